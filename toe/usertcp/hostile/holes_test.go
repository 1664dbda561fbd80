package hostile_test

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/usertcp"
)

// TestQueueOfHoles: a peer sends every second byte of a window of 4 MiB, each in a separate
// segment. That takes less memory than the window. Then the peer sends everything in order, and
// everything arrives. Without the tag conformance it sends a hundredth of the segments.
func TestQueueOfHoles(t *testing.T) {
	const window = 4 << 20
	cfg := extsock.Config{Messages: true, Markers: true}
	p := newPuppet(t, usertcp.Config{ReceiveBuffer: 2 * window}, cfg)
	memory, data := make([]byte, window), prototest.Pattern(window, 6)
	stream, _ := p.writes(registered(t, p.c, memory), data, 1024)
	holes := testmode.Cases(window) / 2
	before := leastInUse()
	for n := 0; n < holes; {
		var packets [][]byte
		for ; n < holes && len(packets) < 256; n++ {
			packets = append(packets, p.segment(2*n+1, stream[2*n+1:2*n+2]))
		}
		p.send(packets)
	}
	grown := leastInUse() - before
	t.Logf("%d segments of 1 byte, each behind a gap: %d octets of memory; the tap %+v", holes, grown, p.stream.EarlyStats())
	if !testmode.Race && grown > window {
		t.Errorf("the segments take %d octets, the window has %d", grown, window)
	}
	const mss = 1400
	var packets [][]byte
	for at := 0; at < len(stream); at += mss {
		packets = append(packets, p.segment(at, stream[at:min(at+mss, len(stream))]))
	}
	p.send(packets)
	got := make([]byte, 8)
	if n, err := p.c.Read(got); err != nil || string(got[:n]) != "over" {
		t.Fatalf("Read = %q, %v", got[:n], err)
	}
	if !bytes.Equal(memory, data) {
		t.Error("the Region has other bytes than were sent")
	}
}
