package hostile_test

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// A bulkTransfer writes the same bytes to the victim's memory again and again.
type bulkTransfer struct {
	from, to *extsock.Conn
	memory   []byte // the peer writes to it
	spare    []byte // the peer may write to it, but does not
	data     []byte
	handle   rdmap.Handle
	regions  [2]extsock.Region
	stop     atomic.Bool
	writing  sync.WaitGroup
	lost     chan struct{} // closed when the victim's end has failed
	err      error         // why it has failed
	isStuck  bool
}

const (
	bulkLen    = 64 << 10
	stuckAfter = 5000 // looks, one each millisecond: a process that gets no processor looks less often
)

// begin starts to write.
func (c *bulkTransfer) begin() {
	m := c.from.Remote(c.handle)
	c.writing.Go(func() {
		for !c.stop.Load() {
			if _, err := m.WriteAt(c.data, 0); err != nil {
				return
			}
		}
	})
}

// watch waits in the background for the end of the connection.
func (c *bulkTransfer) watch() {
	c.lost = make(chan struct{})
	c.writing.Go(func() {
		_, c.err = c.to.Read(make([]byte, 1))
		close(c.lost)
	})
}

func (c *bulkTransfer) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// moves waits until the victim has received n more bytes, and reports whether it has received them
// before the stream was lost. A stream is stuck if nothing has arrived for many looks.
func (c *bulkTransfer) moves(n uint64) bool {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	at, still := c.received(), 0
	for limit := at + n; at < limit; <-look.C {
		still++
		if now := c.received(); now != at {
			at, still = now, 0
		}
		if c.isStuck = still > stuckAfter; c.isStuck || c.isLost() {
			return false
		}
	}
	return true
}

// received returns the number of bytes that the victim has received.
func (c *bulkTransfer) received() uint64 { return c.to.Stats().Received.Octets }

// pause ends the transfer.
func (c *bulkTransfer) pause() {
	c.stop.Store(true)
	c.writing.Wait()
}

// end closes the connection.
func (c *bulkTransfer) end() {
	c.stop.Store(true)
	c.from.SetLinger(0)
	c.from.Close()
	c.to.Close()
	c.writing.Wait()
}

// spoiled returns the number of bytes of the victim's memory that the attacker has changed. The
// connection must have been closed.
func (c *bulkTransfer) spoiled() (n int) {
	for _, r := range c.regions {
		r.Deregister()
	}
	for i, want := range [][]byte{c.data, prototest.Pattern(bulkLen, 2)} {
		for k, b := range [][]byte{c.memory, c.spare}[i] {
			if b != want[k] {
				n++
			}
		}
	}
	return n
}

// works sends a message from the peer to the victim.
func (c *bulkTransfer) works() error {
	const text = "after the attack"
	c.from.SetWriteDeadline(time.Now().Add(time.Minute))
	c.to.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.from.Write([]byte(text)); err != nil {
		return err
	}
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c.to, b); err != nil {
		return err
	}
	if string(b) != text {
		return errors.New("other bytes arrived")
	}
	return nil
}
