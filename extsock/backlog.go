package extsock

import (
	"container/list"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/extsock/internal/wait"
	"github.com/rddp/rddp/internal/locks"
)

// A backlog holds the connections of a Listener from their arrival until Accept returns them, in
// this order. Each connection's startup begins at once, in a goroutine of its own, so that the
// peer's Dial returns whatever the accepting program does. If startup fails, the connection leaves
// the backlog.
//
//	listener below ── run ──▶ waiting, and startup runs ── accept ──▶ program
//	                               └── startup fails: drop ──▶ closed
type backlog struct {
	l        *Listener
	deadline wait.Deadline // of accept

	// Each goroutine waits for its own news only, because waking one in vain costs as much as a good
	// part of a connection's startup.
	arrived wait.Signal // for Accept: a connection has arrived
	ended   wait.Signal // for AcceptDDP: the startup of a connection is over
	room    wait.Signal // for run: awaitRoom must look again

	mu locks.Mutex[locks.Backlog]
	// the *Conn values, oldest first; at most backlogSize
	waiting list.List // +checklocks:mu
	// the listener's error for the next Accept
	err error // +checklocks:mu
	// the Listener or the listener below is closed
	closed bool // +checklocks:mu
}

// backlogSize is the maximum number of connections that wait for Accept. Further connections wait
// in the operating system's backlog, as they would without startup. Each connection may hold unread
// messages of its peer, 384 KiB by default, so the maximum is lower than the operating system's.
const backlogSize = 128

// newBacklog returns a backlog that accepts connections for l.
func newBacklog(l *Listener) *backlog {
	b := &backlog{l: l}
	go b.run()
	return b
}

// run accepts connections until the listener below is closed.
func (b *backlog) run() {
	for b.awaitRoom() {
		var c *Conn
		err := guarded(func() (err error) { c, err = b.l.acceptBelow(); return err })
		panicked := (*PanicError)(nil)
		switch {
		case errors.As(err, &panicked): // a Tap or a trace handler; only this connection is lost
		case errors.Is(err, net.ErrClosed):
			b.close()
			return
		case err != nil:
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
			b.wakeAccept()
		default:
			b.add(c)
		}
	}
}

// awaitRoom waits until the backlog has room and Accept has returned the previous error. It returns
// false once the backlog is closed.
func (b *backlog) awaitRoom() bool {
	for {
		closed, room := b.hasRoom()
		if closed || room {
			return !closed
		}
		changed := b.room.Wait()
		if closed, room = b.hasRoom(); closed || room {
			return !closed
		}
		<-changed
	}
}

// hasRoom says whether awaitRoom is over.
func (b *backlog) hasRoom() (closed, room bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed, b.err == nil && b.waiting.Len() < backlogSize
}

// wakeAccept makes Accept and AcceptDDP look again.
func (b *backlog) wakeAccept() {
	b.arrived.Broadcast()
	b.ended.Broadcast()
}

// add adds a connection and begins its startup.
func (b *backlog) add(c *Conn) {
	err := c.startup.BeginForListener()

	b.mu.Lock()
	closed := b.closed
	place := b.waiting.PushBack(c)
	b.mu.Unlock()
	b.arrived.Broadcast()
	if closed { // close has not seen this connection
		b.close()
	}
	if err != nil { // an error of the Config, which each call of the program returns
		return
	}
	go func() { // runs startup to its end, even if the program closes the connection
		inDDP := c.runStartup()
		if c.startup.Phase() == startup.Failed {
			b.drop(place)
		} else {
			b.ended.Broadcast()
		}
		if inDDP {
			c.verbs.driver.Receive()
		}
	}()
}

// drop removes a connection, unless Accept has returned it.
func (b *backlog) drop(place *list.Element) {
	b.mu.Lock()
	b.waiting.Remove(place) // does nothing if Accept has taken it
	b.mu.Unlock()
	b.room.Broadcast()
}

// accept waits until pick takes a connection from the queue, and returns it. pick may find one after
// each news.
func (b *backlog) accept(pick func(*backlog) (c *Conn, plain []*Conn), news *wait.Signal) (*Conn, error) {
	for {
		changed, over := news.Wait(), b.deadline.Done()
		c, plain, err := b.take(wait.IsClosed(over), pick)
		for _, c := range plain {
			_ = c.Close() // no call waits for the error
		}
		if len(plain) > 0 || c != nil || err != nil {
			b.room.Broadcast()
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

// take returns the connection that pick takes, or the next error. It returns neither if it must be
// called again after a change. late says that the deadline has passed. The caller must close the
// connections in plain.
func (b *backlog) take(late bool, pick func(*backlog) (c *Conn, plain []*Conn)) (c *Conn, plain []*Conn, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed: // first, so that a program that polls with deadlines sees it
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

// switchedLocked takes the oldest connection in DDP mode. It also removes the connections before it
// that are plain TCP, and returns them in plain.
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

// close resets the connections that Accept has not returned, as the operating system does with its
// own backlog.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	var left []*Conn
	for b.waiting.Len() > 0 {
		left = append(left, b.waiting.Remove(b.waiting.Front()).(*Conn))
	}
	b.mu.Unlock()
	b.wakeAccept()
	b.room.Broadcast()
	for _, c := range left {
		c.startup.Disown()
		c.abortive.Store(true)
		_ = c.stream.Abort() // no call waits for the errors
		_ = c.Close()
	}
}

// setDeadline sets the deadline of accept.
func (b *backlog) setDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.opError("set", net.ErrClosed)
	}
	b.deadline.Set(t)
	b.wakeAccept() // the deadline's channel may be a new one
	return nil
}

func (b *backlog) opError(op string, err error) error {
	a := b.l.Addr()
	return &net.OpError{Op: op, Net: a.Network(), Addr: a, Err: err}
}
