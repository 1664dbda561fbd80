package extsock

import (
	"container/list"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/locks"
)

// A backlog holds the connections of a Listener from the moment they come until Accept hands them out, in that
// order. Startup of each begins at once, in a goroutine of its own, so that Dial returns whatever the accepting
// program does. Startup that fails takes its connection out again.
//
//	listener below ── run ──▶ waiting, and startup runs ── accept ──▶ program
//	                               └── startup fails: drop ──▶ closed
type backlog struct {
	l        *Listener
	deadline deadline // of Accept

	changed signal // anything below
	mu      locks.Mutex[locks.Backlog]
	// of *Conn, oldest first; at most backlogSize
	waiting list.List // +checklocks:mu
	// of the listener below, for the next Accept
	err error // +checklocks:mu
	// the Listener, or the one below
	closed bool // +checklocks:mu
}

// backlogSize is how many connections may wait for Accept. Those that come then wait in the operating
// system's backlog, as they would for a Listener that starts nothing up. Each of them may hold unread
// messages of its peer, 384 KiB by default, so there are not as many as the operating system allows.
const backlogSize = 128

// newBacklog begins to accept for l.
func newBacklog(l *Listener) *backlog {
	b := &backlog{l: l}
	go b.run()
	return b
}

// run accepts until the listener below is closed.
func (b *backlog) run() {
	for b.awaitRoom() {
		var c *Conn
		err := guarded(func() (err error) { c, err = b.l.acceptBelow(); return err })
		panicked := (*PanicError)(nil)
		switch {
		case errors.As(err, &panicked): // of a Tap or a trace handler, which cost their own connection
		case errors.Is(err, net.ErrClosed):
			b.close()
			return
		case err != nil:
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
			b.changed.broadcast()
		default:
			b.add(c)
		}
	}
}

// awaitRoom waits until the next connection may come: there is room, and the program has been told of an error of
// the one before. It reports false once the backlog is closed.
func (b *backlog) awaitRoom() bool {
	for {
		changed := b.changed.wait()
		b.mu.Lock()
		closed, room := b.closed, b.err == nil && b.waiting.Len() < backlogSize
		b.mu.Unlock()
		if closed || room {
			return !closed
		}
		<-changed
	}
}

// add takes in a connection and begins its startup.
func (b *backlog) add(c *Conn) {
	err := c.startup.BeginForListener()

	b.mu.Lock()
	closed := b.closed
	place := b.waiting.PushBack(c)
	b.mu.Unlock()
	b.changed.broadcast()
	if closed { // without this connection
		b.close()
	}
	if err != nil { // of the Config: each call of the program says it
		return
	}
	go func() { // sees startup to its end, even if the program closes the connection
		c.runStartup()
		if c.startup.Phase() == startup.Failed {
			b.drop(place)
		} else {
			b.changed.broadcast() // AcceptDDP may wait for this one
		}
	}()
}

// drop removes a connection, unless Accept has handed it out.
func (b *backlog) drop(place *list.Element) {
	b.mu.Lock()
	b.waiting.Remove(place) // does nothing if it is not there
	b.mu.Unlock()
	b.changed.broadcast()
}

// accept waits for the connection that pick takes from the queue.
func (b *backlog) accept(pick func(*backlog) (c *Conn, plain []*Conn)) (*Conn, error) {
	for {
		changed, over := b.changed.wait(), b.deadline.done()
		c, plain, err := b.take(isClosed(over), pick)
		for _, c := range plain {
			_ = c.Close() // nobody waits for the error
		}
		if len(plain) > 0 || c != nil || err != nil {
			b.changed.broadcast() // there is room
		}
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-changed:
		case <-over:
		}
	}
}

// take returns the connection that pick takes, or the error that comes next; nil and nil if there is neither. late says
// that the deadline has passed. The caller closes the connections in plain.
func (b *backlog) take(late bool, pick func(*backlog) (c *Conn, plain []*Conn)) (c *Conn, plain []*Conn, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed: // first: whoever polls with deadlines has to see it
		return nil, nil, b.opError("accept", net.ErrClosed)
	case late:
		return nil, nil, b.opError("accept", os.ErrDeadlineExceeded)
	}
	if c, plain = pick(b); c == nil {
		err, b.err = b.err, nil
	}
	return c, plain, err
}

// oldestLocked takes the oldest connection.
//
// +checklocks:b.mu
func (b *backlog) oldestLocked() (c *Conn, plain []*Conn) {
	if oldest := b.waiting.Front(); oldest != nil {
		c = b.waiting.Remove(oldest).(*Conn)
	}
	return c, nil
}

// switchedLocked takes the oldest connection in DDP mode. The connections before it that are in plain TCP come out, too.
//
// +checklocks:b.mu
func (b *backlog) switchedLocked() (c *Conn, plain []*Conn) {
	for e := b.waiting.Front(); e != nil; {
		at, next := e, e.Next()
		e = next
		switch c := at.Value.(*Conn); c.startup.Phase() {
		case startup.DDP:
			b.waiting.Remove(at)
			return c, plain
		case startup.Plain:
			b.waiting.Remove(at)
			plain = append(plain, c)
		}
	}
	return nil, plain
}

// close resets the connections that nobody has accepted, as the operating system does with those of its own
// backlog.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	var left []*Conn
	for b.waiting.Len() > 0 {
		left = append(left, b.waiting.Remove(b.waiting.Front()).(*Conn))
	}
	b.mu.Unlock()
	b.changed.broadcast()
	for _, c := range left {
		c.startup.Disown()
		c.abortive.Store(true)
		_ = c.stream.Abort() // nobody waits for the errors
		_ = c.Close()
	}
}

// setDeadline bounds accept.
func (b *backlog) setDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.opError("set", net.ErrClosed)
	}
	b.deadline.set(t)
	b.changed.broadcast() // the deadline's channel may be a new one
	return nil
}

func (b *backlog) opError(op string, err error) error {
	a := b.l.Addr()
	return &net.OpError{Op: op, Net: a.Network(), Addr: a, Err: err}
}
