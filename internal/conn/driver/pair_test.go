package driver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// bubble is synctest.Test for a test whose connections have ended when f returns. It checks that
// they have given all memory back to the budget.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	used, reserved := MemoryInUse(), MemoryReserved()
	synctest.Test(t, f)
	if u, r := MemoryInUse(), MemoryReserved(); u != used || r != reserved {
		t.Errorf("the budget has %d bytes in use and %d reserved after the test, %d and %d before", u, r, used, reserved)
	}
}

// pairCloseTimeout is the close timeout of a streamPair.
const pairCloseTimeout = 5 * time.Second

// streamPair returns the two ends of a connection in stream mode. end closes an end as Conn.Close
// does.
func streamPair(sa, sb toe.Stream) (a, b *Driver, end func(*Driver) error) {
	return streamPairOf(sa, sb, 0)
}

// streamPairOf is streamPair with send queues of this depth. 0 means the default.
func streamPairOf(sa, sb toe.Stream, sendDepth int) (a, b *Driver, end func(*Driver) error) {
	return pairOf(sa, sb, sendDepth, func(domain *ddp.Domain) *ReceiveConfig {
		const window, size = 32, 64 << 10
		return &ReceiveConfig{Depth: window, Size: size, Stream: &StreamConfig{
			Window: newWindow(window), Credits: window, MaxMessage: size,
			Register: func(p []byte) (*ddp.Region, error) { return domain.Register(p, ddp.RemoteWrite, 1) },
		}}
	})
}

// messagePair is streamPair in message mode, for messages of up to size bytes.
func messagePair(sa, sb toe.Stream, size int) (a, b *Driver, end func(*Driver) error) {
	return pairOf(sa, sb, 0, func(*ddp.Domain) *ReceiveConfig { return &ReceiveConfig{Depth: 8, Size: size} })
}

func pairOf(sa, sb toe.Stream, sendDepth int, receive func(*ddp.Domain) *ReceiveConfig) (a, b *Driver, end func(*Driver) error) {
	closed := make(map[*Driver]*wait.Latch)
	start := func(s toe.Stream) *Driver {
		domain := new(ddp.Domain)
		qp := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 1, IRD: 2, ORD: 2, SendDepth: sendDepth})
		c := new(wait.Latch)
		p := New(Config{
			Stream: s, QP: qp, Start: rdmap.StartParams{IRD: 2, ORD: 2}, Agreement: mpa.Agreement{CRC: true, IRD: 2, ORD: 2}, CloseTimeout: pairCloseTimeout, Closed: c,
			Recover: true,
			Receive: receive(domain),
		})
		closed[p] = c
		p.Start(nil)
		go p.Receive()
		return p
	}
	a, b = start(sa), start(sb)
	return a, b, func(p *Driver) error {
		closed[p].Set()
		return p.Close()
	}
}
