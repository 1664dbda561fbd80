package driver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestDetachAfterTheEnd: the connection ends in the middle of a message, and then the deadline of
// the call that has posted the message passes. By then the queue pair has given the memory of the
// message back, so the way out must not refer to it.
func TestDetachAfterTheEnd(t *testing.T) {
	failure := errors.New("the end")
	for _, tt := range []struct {
		desc string
		end  func(d *Driver, peer toe.Stream)
	}{
		{"Kill", func(d *Driver, _ toe.Stream) { d.Kill(failure) }},
		{"the peer resets", func(_ *Driver, peer toe.Stream) { peer.Abort() }},
		{"Close, and TCP takes nothing", func(d *Driver, _ toe.Stream) { d.Close() }},
		{"the peer resets after Close", func(d *Driver, peer toe.Stream) {
			go d.Close()
			synctest.Wait()
			peer.Abort()
		}},
		{"a fault in the stream, and TCP takes nothing", func(_ *Driver, peer toe.Stream) { peer.Write(make([]byte, 100)) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, peer := simtoe.Pair(simtoe.Config{Window: 5000}, simtoe.Config{Window: 5000})
				cq := rdmap.NewCompletionQueue(128)
				qp := rdmap.NewQP(rdmap.Config{SendCQ: cq})
				d := New(Config{
					Stream: stream, QP: qp, Start: rdmap.StartParams{Initiator: true}, Agreement: mpa.Agreement{CRC: true}, CloseTimeout: pairCloseTimeout,
				})
				d.Start(nil)
				go d.Receive()
				data := make([]byte, 1<<20)
				if err := d.Post(&rdmap.WorkRequest{ID: 7, Op: rdmap.WorkSend, Data: data}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if d.tx.stage != stagePart {
					t.Fatalf("TCP has taken a window of the message, and the stage is %d, want %d", d.tx.stage, stagePart)
				}
				if qp.Cancel(cq, 7) {
					t.Fatal("a message was canceled in its middle")
				}
				tt.end(d, peer)
				time.Sleep(time.Minute)
				synctest.Wait() // Sleep alone does not order what the Driver's goroutines have done before what follows
				var done [2]rdmap.Completion
				if n := cq.Poll(done[:]); n != 1 || done[0].Status != rdmap.StatusFlushed {
					t.Errorf("%d Completions, the first is %v; want one, flushed", n, done[0])
				}
				if d.tx.stage != stageIdle || d.tx.done != 0 || !d.tx.ddp.Detach(0) {
					t.Errorf("after the end the stage is %d, with %d messages done; the Sender has none: %t", d.tx.stage, d.tx.done, d.tx.ddp.Detach(0))
				}
				if !d.detach(data, 7) {
					t.Error("the memory of the message does not belong to the caller")
				}
				if s := d.end.life.state(); s != lifeClosed {
					t.Errorf("the connection is %v", s)
				}
				peer.Close()
				time.Sleep(time.Minute)
			})
		})
	}
}
