package driver

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// TestSegmentsWithoutPayload: the first segments of a message have no payload, so those that follow
// have the Message Offset 0 as well. They all belong to one message, which gets one buffer, even if
// there is room for no other.
func TestSegmentsWithoutPayload(t *testing.T) {
	for _, depth := range []int{1, 8} {
		for _, framed := range []bool{true, false} {
			t.Run(fmt.Sprintf("depth %d, byte stream: %t", depth, framed), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var stream []byte
					const empties, text = 3, "\x00\x00\x00\x00hello"
					for i := range empties + 1 {
						h := ddp.UntaggedHeader{Last: i == empties, RsvdULP: rdmap.Control(rdmap.OpSend), QN: ddp.QNSend, MSN: 1}
						u := h.AppendTo(nil)
						if h.Last {
							u = append(u, text...)
						}
						stream = appendFPDU(stream, u)
					}
					depth, want := depth, text
					receive := &ReceiveConfig{Depth: depth, Size: 512}
					if framed {
						want = text[bytestream.HeaderLen:]
						receive.Stream = &StreamConfig{Window: newWindow(depth), Credits: depth, MaxMessage: 512}
					}
					qp := rdmap.NewQP(rdmap.Config{Domain: new(ddp.Domain), QPNum: 1, RecvDepth: depth + bytestream.ExtraBuffers})
					d := New(Config{
						Stream: &script{in: stream}, QP: qp, Agreement: mpa.Agreement{CRC: true}, CloseTimeout: pairCloseTimeout,
						Recover: true,
						Receive: receive,
					})
					over := make(chan struct{})
					go func() {
						d.Receive()
						close(over)
					}()
					time.Sleep(time.Minute)
					select {
					case <-over:
					default:
						t.Error("a segment waits for a buffer of its own")
						d.Kill(net.ErrClosed)
						d.wakeReceiver()
						<-over
					}
					if n := d.count.Load(counters.Panics); n != 0 {
						t.Errorf("%d panics", n)
					}
					got := make([]byte, 100)
					if _, taken := d.in.begin(got, nil); string(got[:taken.n]) != want {
						t.Errorf("read %q, want %q", got[:taken.n], want)
					}
				})
			})
		}
	}
}
