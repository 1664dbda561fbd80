package usertcp_test

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/toe/usertcp"
	"github.com/rddp/rddp/toe/usertcp/internal/turned"
)

// A tailLoss is a Link that loses the first two segments of a burst and holds back their
// retransmissions. It loses the last segment twice.
type tailLoss struct {
	usertcp.Link
	last int // the number of the last segment

	mu sync.Mutex
	// +checklocks:mu
	size int // bytes of payload in each segment; 0 until the burst begins
	// +checklocks:mu
	first uint32 // sequence number
	// +checklocks:mu
	copies map[int]int // of each segment, that TCP has sent
	// +checklocks:mu
	waiting [][]byte
}

func (l *tailLoss) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := header.TCP(header.IPv4(p).Payload())
	if l.size == 0 || len(h.Payload()) == 0 {
		return l.Link.Write(p)
	}
	if len(l.copies) == 0 {
		l.first = h.SequenceNumber()
	}
	n := int(h.SequenceNumber()-l.first) / l.size
	l.copies[n]++
	switch {
	case n < 2 && l.copies[n] > 1:
		l.waiting = append(l.waiting, bytes.Clone(p))
	case n >= 2 && n < l.last, n == l.last && l.copies[n] > 2:
		return l.Link.Write(p)
	}
	return len(p), nil
}

// begin marks the beginning of the burst.
func (l *tailLoss) begin(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size, l.copies = size, make(map[int]int)
}

// release returns the packets that wait.
func (l *tailLoss) release() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// copiesOfLast returns how often TCP has sent the last segment.
func (l *tailLoss) copiesOfLast() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.copies[l.last]
}

// TestLostProbe: the last segment that TCP sends before it leaves a recovery is lost, and then the
// probe for it. TCP sends it again after its retransmission timeout.
func TestLostProbe(t *testing.T) {
	const burst = 11
	clock := turned.New(t)
	x, y := usertcp.Pipe(1500)
	loss := &tailLoss{Link: x, last: burst - 1}
	s, r := connect(t, newStack(t, loss, usertcp.Config{Addresses: addrsA}), newStack(t, y, usertcp.Config{Addresses: addrsB}), "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	segment := make([]byte, s.EMSS())
	loss.begin(len(segment))
	for range burst {
		if _, err := s.Write(segment); err != nil {
			t.Fatal(err)
		}
		clock.Turn(time.Millisecond, time.Millisecond)
	}
	again := loss.release()
	for _, p := range again { // TCP leaves the recovery, and counts no segment as outstanding
		x.Write(p)
		clock.Settle()
	}
	if n := loss.copiesOfLast(); len(again) < 2 || n != 1 {
		t.Fatalf("TCP has sent %d segments again, and the last one %d times: that is another case", len(again), n)
	}
	clock.TurnUntil(t, time.Minute, time.Millisecond, "the probe", func() bool { return loss.copiesOfLast() == 2 })
	clock.TurnUntil(t, time.Minute, time.Millisecond, "what was lost twice", func() bool { return loss.copiesOfLast() == 3 })
	if _, err := io.ReadFull(r, make([]byte, burst*len(segment))); err != nil {
		t.Error(err)
	}
}
