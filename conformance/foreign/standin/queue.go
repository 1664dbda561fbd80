package standin

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock"
)

// A queue holds the connections of a listener that are in DDP mode and that nobody has accepted
// yet. Without it a program that dials and accepts in one goroutine could not work: its Dial needs
// the other end's EnableDDP.
type queue struct {
	mu sync.Mutex
	// in the order in which their switch has ended
	ready []*extsock.Conn // +checklocks:mu
	// of the listener's Accept, or net.ErrClosed; no connection comes after it
	err      error       // +checklocks:mu
	deadline time.Time   // +checklocks:mu
	timer    *time.Timer // +checklocks:mu
	// closed, and replaced, at every change of the above
	changed  chan struct{}      // +checklocks:mu
	ctx      context.Context    // of the switches under way
	cancel   context.CancelFunc // ends them
	filled   sync.WaitGroup     // of fill
	switches sync.WaitGroup     // of the goroutines that fill starts
}

func newQueue() *queue {
	q := &queue{changed: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// fill accepts connections until l is closed, and switches each in a goroutine of its own.
func (q *queue) fill(l *extsock.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			q.end(err)
			return
		}
		c := nc.(*TCPConn)
		q.switches.Go(func() {
			if err := enable(q.ctx, c); err != nil || !q.add(c) {
				c.Close()
			}
		})
	}
}

// +checklocks:q.mu
func (q *queue) wakeLocked() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// add reports whether the queue has taken c.
func (q *queue) add(c *extsock.Conn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return false
	}
	q.ready = append(q.ready, c)
	q.wakeLocked()
	return true
}

func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.wakeLocked()
	}
}

func (q *queue) close() {
	q.end(net.ErrClosed)
	q.cancel()
	q.filled.Wait()
	q.switches.Wait()
	q.mu.Lock()
	left := q.ready
	q.ready = nil
	q.mu.Unlock()
	for _, c := range left {
		c.Close()
	}
}

func (q *queue) setDeadline(t time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deadline = t
	if q.timer != nil {
		q.timer.Stop()
	}
	if !t.IsZero() {
		q.timer = time.AfterFunc(time.Until(t), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.wakeLocked()
		})
	}
	q.wakeLocked()
}

// next waits for a connection. The listener's address a is for the error.
func (q *queue) next(a net.Addr) (*extsock.Conn, error) {
	for {
		q.mu.Lock()
		c, changed, err := q.takeLocked()
		q.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case err == net.ErrClosed || err == os.ErrDeadlineExceeded:
			return nil, &net.OpError{Op: "accept", Net: a.Network(), Addr: a, Err: err}
		case err != nil:
			return nil, err
		}
		<-changed
	}
}

// takeLocked takes the first connection. If there is none, it returns the error of Accept, or the
// channel to wait for.
//
// +checklocks:q.mu
func (q *queue) takeLocked() (*extsock.Conn, <-chan struct{}, error) {
	if q.err != nil {
		return nil, nil, q.err
	}
	if !q.deadline.IsZero() && !time.Now().Before(q.deadline) {
		return nil, nil, os.ErrDeadlineExceeded
	}
	if len(q.ready) == 0 {
		return nil, q.changed, nil
	}
	c := q.ready[0]
	q.ready = q.ready[1:]
	return c, nil, nil
}
