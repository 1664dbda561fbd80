package driver

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestStreamEndBehindTheLastOctet delivers a message and the end of the stream at any moment of a
// Read. The Read must get the bytes first.
func TestStreamEndBehindTheLastOctet(t *testing.T) {
	rounds := 20_000
	if testmode.Slow() {
		rounds = 2000
	}
	var round, over atomic.Int64 // the present round, and the last whose message was delivered
	inboxes := make([]*lockedDelivery, rounds)
	drivers := make([]*Driver, rounds)
	var closed wait.Latch
	for i := range rounds {
		in := newDelivery(6, 512)
		in.setWindow(newWindow(8))
		p := &Driver{in: in, bytes: &byteStream{tx: *bytestream.NewSender(8, 512, 8), count: new(counters.Counters)}}
		p.end.closed = &closed
		inboxes[i] = in
		drivers[i] = p
	}
	go func() {
		for i := range int64(rounds) {
			for spin := 1; round.Load() <= i; spin++ {
				if spin%1000 == 0 {
					runtime.Gosched()
				}
			}
			in, c := inboxes[i], bufpool.GetChunk(1)
			for range i % 256 { // not always at the same moment
				over.Load()
			}
			in.mu.Lock()
			in.delivery.used, in.delivery.placing.chunk = 1, c
			in.delivery.placing.become(placingPooled)
			in.mu.Unlock()
			in.accept(1, bytestream.DataBuffer)
			in.streamEnds()
			in.notify()
			over.Store(i + 1)
		}
	}()
	defer round.Store(int64(rounds)) // after a failure, too
	p := make([]byte, 8)
	var never wait.Deadline
	for i := range int64(rounds) {
		round.Store(i + 1)
		if n, err := drivers[i].Read(p, &never); n != 1 || err != nil {
			t.Fatalf("round %d: Read = %d, %v in front of the last octet", i, n, err)
		}
		for over.Load() <= i {
			runtime.Gosched()
		}
	}
}
