package bytestream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// A fataler has the methods of a test that an end calls. *testing.T and *rapid.T implement it.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// An end is one end of a stream under test: a Sender, a Receiver, and the state that a driver and a
// program keep around them. The queue pair below them is two lists: the requests that are posted,
// and the requests that TCP has taken.
type end struct {
	t    fataler
	tx   *Sender
	rx   *Receiver
	w    Window
	peer *end

	depth  int                 // of the send queue
	queue  []rdmap.WorkRequest // posted
	sent   []uint64            // taken by TCP and not completed
	wire   []packet            // on its way to the peer
	out    []string            // each request that TCP has taken, in words
	first  []byte              // the last message that TCP has taken
	unread [][]byte            // messages of the peer's data, each in a buffer
	got    []byte              // what the program has read
	eof    bool
	want   []byte   // memory of a Read that waits
	lent   []byte   // memory that the peer may write to
	stag   ddp.STag // of lent
	held   int      // buffers in use
	room   int64    // what the budget has left for the window
}

// A packet is one request on the wire.
type packet struct {
	to   rdmap.Handle // of an RDMA Write; no STag: a Send
	data []byte
}

// newPair returns two connected ends, each with the given number of buffers for messages of
// maxMessage bytes.
func newPair(t fataler, buffers, maxMessage int) (a, b *end) {
	newEnd := func() *end {
		w := Window{Now: buffers, Most: buffers, Least: min(buffers, MinCredits), Unit: 1}
		return &end{t: t, tx: NewSender(buffers, maxMessage, buffers), rx: NewReceiver(buffers), w: w, depth: MaxSlots}
	}
	a, b = newEnd(), newEnd()
	a.peer, b.peer = b, a
	return a, b
}

// post posts the requests that are due.
func (e *end) post() {
	var wr rdmap.WorkRequest
	for e.tx.Next(&wr) {
		if len(e.queue)+len(e.sent) >= e.depth {
			e.tx.Full()
			return
		}
		e.queue = append(e.queue, wr)
		e.tx.Posted()
	}
}

// transmit lets TCP take the oldest request that is posted.
func (e *end) transmit() bool {
	if len(e.queue) == 0 {
		return false
	}
	wr := e.queue[0]
	e.queue = e.queue[1:]
	e.sent = append(e.sent, wr.ID)
	data := slices.Concat(append([][]byte{wr.Data}, wr.Gather...)...)
	p := packet{data: data}
	if wr.Op == rdmap.WorkWrite {
		p.to = wr.Remote
		e.out = append(e.out, fmt.Sprintf("write %d at %d", len(data), wr.Remote.TO))
	} else {
		e.out = append(e.out, describe(data))
		e.first = data
	}
	e.wire = append(e.wire, p)
	return true
}

// describe describes a message: its kind, its length if it has one, +FIN and the credits.
func describe(m []byte) string {
	h, body, err := ParseHeader(m)
	if err != nil {
		return err.Error()
	}
	s := h.Kind.String()
	switch {
	case h.Kind == Data:
		s += fmt.Sprintf(" %d", len(body))
	case h.Kind == Offer || h.Kind == Done:
		s += fmt.Sprintf(" %d", binary.BigEndian.Uint32(body))
	case h.Kind == Grant:
		s += fmt.Sprintf(" %d", binary.BigEndian.Uint32(body[12:]))
	}
	if h.FIN {
		s += " FIN"
	}
	if h.Credits > 0 {
		s += fmt.Sprintf(" c%d", h.Credits)
	}
	return s
}

// complete completes the n oldest requests that TCP has taken.
func (e *end) complete(n int) {
	var done []rdmap.Completion
	for _, id := range e.sent[:n] {
		done = append(done, rdmap.Completion{ID: id})
	}
	e.sent = e.sent[n:]
	e.tx.Completed(done)
}

// takeBack ends the long Write under way, as a driver does when the Write's deadline has passed. It
// returns how many bytes go out.
func (e *end) takeBack() int {
	e.tx.GiveUp()
	var done []rdmap.Completion
	for id := range e.tx.Posts() {
		i := slices.IndexFunc(e.queue, func(wr rdmap.WorkRequest) bool { return wr.ID == id })
		if i < 0 {
			break
		}
		e.queue = slices.Delete(e.queue, i, i+1)
		done = append(done, rdmap.Completion{ID: id, Status: rdmap.StatusFlushed, Err: rdmap.ErrCanceled})
	}
	e.tx.Completed(done)
	if _, owns := e.tx.Write(); owns {
		for i := range e.queue { // the posted requests go out from copies
			e.queue[i].Data = bytes.Clone(e.queue[i].Data)
		}
		e.tx.Detached()
	}
	return e.tx.End()
}

// receive delivers the peer's oldest packet.
func (e *end) receive() (ok bool, err error) {
	if len(e.peer.wire) == 0 {
		return false, nil
	}
	p := e.peer.wire[0]
	e.peer.wire = e.peer.wire[1:]
	if p.to.STag != 0 {
		if p.to.STag == e.stag && e.lent != nil {
			copy(e.lent[p.to.TO:], p.data)
		}
		p.to.Len = uint32(len(p.data))
		e.rx.Placed(p.to)
		return true, nil
	}
	n := min(len(p.data), HeaderLen)
	if e.rx.OutOfCredits() {
		e.rx.GaveBack(e.tx.GivenBack())
	}
	a, err := e.rx.Arrived(p.data[:n], p.data[n:])
	if err != nil {
		return true, err
	}
	return true, e.carryOut(a, p.data[n:])
}

// carryOut does what an Arrival requires.
func (e *end) carryOut(a Arrival, body []byte) error {
	e.t.Helper()
	freed := 1
	switch a.Kind {
	case Data:
		if a.N > 0 {
			e.unread = append(e.unread, body)
			e.held++
			freed = 0
			if e.held > e.w.Most {
				e.t.Fatalf("%d messages for %d buffers", e.held, e.w.Most)
			}
		}
		e.eof = e.eof || a.End
	case Offer:
		h := rdmap.Handle{}
		if len(e.unread) == 0 && len(e.want) > 0 {
			e.stag++
			e.lent = e.want[:min(len(e.want), a.N)]
			h = rdmap.Handle{STag: e.stag, Len: uint32(len(e.lent))}
		}
		e.rx.Answer(h)
		e.tx.Answer(h)
	case Grant:
		if err := e.tx.Granted(a.Grant); err != nil {
			return err
		}
	case Done:
		e.got = append(e.got, e.lent[:a.N]...)
		e.lent, e.want = nil, nil
	case Cancel:
		e.lent = nil
	}
	switch a.Buffer {
	case DataBuffer:
		if freed > 0 {
			e.freed()
		}
	case ControlBuffer:
		e.tx.Freed(1, e.w.Now, true)
	}
	return e.tx.Credit(a.Credits)
}

// freed notes that a buffer that held data is free again.
func (e *end) freed() { e.tx.Freed(e.w.HandBack(e.w.Change(e.room)), e.w.Now, false) }

// read reads all data that has arrived.
func (e *end) read() {
	for len(e.unread) > 0 {
		e.got = append(e.got, e.unread[0]...)
		e.unread = e.unread[1:]
		e.held--
		e.freed()
	}
}

// run lets everything happen that can happen without a further Write or Read of the programs.
func run(t fataler, ends ...*end) {
	t.Helper()
	for again := true; again; {
		again = false
		for _, e := range ends {
			e.post()
			for e.transmit() {
				again = true
			}
			if len(e.sent) > 0 {
				e.complete(len(e.sent))
				again = true
			}
			for {
				ok, err := e.receive()
				if err != nil {
					t.Fatalf("a message of the peer's: %v", err)
				}
				if !ok {
					break
				}
				again = true
			}
		}
	}
}

// wantOut checks which messages an end has sent since the last call.
func (e *end) wantOut(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(e.out, ", "); got != strings.Join(want, ", ") {
		t.Errorf("sent %s\nwant %s", got, strings.Join(want, ", "))
	}
	e.out = nil
}

// pattern returns n bytes whose values show their places.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}
