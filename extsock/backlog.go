package extsock

import (
	"container/list"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
)

// A backlog holds the connections of a Listener from their arrival until Accept returns them, in
// this order. Each connection's startup begins at once, in a goroutine of its own, so that the
// peer's Dial returns whatever the accepting program does. If startup fails, the connection leaves
// the backlog.
//
//	listener below ── run ──▶ waiting, and startup runs ── accept ──▶ program
//	                               └── startup fails ──▶ closed
//
// At most backlogSize connections are seated. For Accept, which returns silent connections too, a
// connection is seated as soon as it arrives. For AcceptDDP it is seated when its Request has come:
// otherwise silent peers could take all seats. The Door limits the silent connections then.
type backlog struct {
	l        *Listener
	deadline wait.Deadline // of accept

	// Each goroutine waits for its own signal only, because waking one for nothing costs as much as
	// a good part of a connection's startup.
	arrived wait.Signal // for Accept: a connection has arrived
	ended   wait.Signal // for AcceptDDP: the startup of a connection is over
	room    wait.Signal // for run: awaitRoom must look again

	mu locks.Mutex[locks.Backlog]
	// the *entry values, oldest first
	waiting list.List // +checklocks:mu
	// the entries that ask for a seat, oldest first
	asking list.List // +checklocks:mu
	// the entries in DDP mode, in the order in which their startup ended
	switched list.List // +checklocks:mu
	// the number of entries that have a seat: those in the stages seated and switched
	seated int // +checklocks:mu
	// the program's last call was AcceptDDP, not Accept
	onlyDDP bool // +checklocks:mu
	// calls of Accept and AcceptDDP under way
	calls int // +checklocks:mu
	// another process may accept from the listener below
	shared bool // +checklocks:mu
	// run accepts from the listener below
	accepting bool // +checklocks:mu
	// the listener's error for the next Accept
	err error // +checklocks:mu
	// the Listener or the listener below is closed
	closed bool // +checklocks:mu
}

// backlogSize is the maximum number of seated connections. Further connections wait in the
// operating system's backlog, as they would without startup. The maximum is lower than the
// operating system's, because each connection may hold unread messages of its peer: 384 KiB by
// default, beyond its share of SetMemoryLimit.
const backlogSize = 128

// An entry is a connection in a backlog. The backlog's mu guards all fields but c.
type entry struct {
	c     *Conn
	stage stage
	place *list.Element // in waiting
	turn  *list.Element // in asking or switched
	seat  chan struct{} // closed when the entry does not ask any more
}

// A stage is how far an entry has come. backlog.move changes it. Every other stage may become gone,
// and an entry may begin as seated:
//
//	unseated ──the Request──▶ asking ──a seat is free──▶ seated ──DDP mode──▶ switched     gone
//	    ▲                                                  │
//	    └───────AcceptDDP, and the Request has not come────┘
type stage uint8

const (
	unseated stage = iota // the peer's Request has not come
	asking                // the Request has come, and its answer waits for a seat
	seated
	switched // seated, and in DDP mode
	gone     // the entry is not in the backlog any more
)

var stageNames = [...]string{"unseated", "asking", "seated", "switched", "gone"}

func (s stage) String() string { return stageNames[s] }

var stageNext = states.Table[stage]{
	unseated: states.To(unseated, asking, seated, gone),
	asking:   states.To(seated, gone),
	seated:   states.To(unseated, switched, gone),
	switched: states.To(gone),
	gone:     0,
}

// move changes the stage of an entry. The caller must then call settle.
//
// +checklocks:b.mu
func (b *backlog) move(e *entry, to stage) {
	switch e.stage {
	case seated:
		b.seated--
	case switched:
		b.seated--
		b.switched.Remove(e.turn)
	case asking:
		b.asking.Remove(e.turn)
		close(e.seat)
	}
	switch stageNext.Become(&e.stage, to); to {
	case unseated:
		e.c.startup.CountSilent()
	case asking:
		e.turn, e.seat = b.asking.PushBack(e), make(chan struct{})
	case seated:
		b.seated++
	case switched:
		b.seated++
		e.turn = b.switched.PushBack(e)
	case gone:
		b.waiting.Remove(e.place)
	}
}

// settle gives free seats to the entries that ask, and lets run accept if there is room.
//
// +checklocks:b.mu
func (b *backlog) settle() {
	for b.seated < backlogSize && b.asking.Len() > 0 {
		b.move(b.asking.Front().Value.(*entry), seated)
	}
	switch room := b.hasRoom(); {
	case room || b.closed:
		b.room.Broadcast()
	case b.shared && b.accepting:
		b.boundBelow(time.Unix(1, 0))
	}
}

// hasRoom reports whether run may accept another connection. If another process may accept too, run
// accepts only for a call that waits.
//
// +checklocks:b.mu
func (b *backlog) hasRoom() bool {
	return b.err == nil && b.seated < backlogSize && (!b.shared || b.calls > b.seated)
}

// newBacklog returns a backlog that accepts connections for l.
func newBacklog(l *Listener) *backlog {
	b := &backlog{l: l}
	l.background.Go(b.run)
	return b
}

// run accepts connections until the listener below is closed.
func (b *backlog) run() {
	for b.awaitRoom() {
		var below net.Conn
		err := guarded(func() (err error) { below, err = b.l.l.Accept(); return err })
		switch {
		case errors.Is(err, net.ErrClosed):
			b.close()
			return
		case errors.Is(err, os.ErrDeadlineExceeded) && b.isShared(): // settle or share has ended this Accept
		case err != nil:
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
			b.wakeAccept()
		default:
			if guarded(func() error { b.add(b.l.over(below)); return nil }) != nil { // a panic of the program: only this connection is lost
				_ = guarded(below.Close)
			}
		}
	}
}

// awaitRoom waits until the backlog has room and Accept has returned the previous error. It returns
// false once the backlog is closed. After true, run must accept.
func (b *backlog) awaitRoom() bool {
	for {
		closed, room := b.beginAccept()
		if closed || room {
			return !closed
		}
		changed := b.room.Wait()
		if closed, room = b.beginAccept(); closed || room {
			return !closed
		}
		<-changed
	}
}

// beginAccept says whether awaitRoom is over, and why.
func (b *backlog) beginAccept() (closed, room bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accepting = !b.closed && b.hasRoom()
	if b.accepting && b.shared {
		b.boundBelow(time.Time{})
	}
	return b.closed, b.accepting
}

// boundBelow sets the deadline of the listener below. If that listener has no deadlines, run may
// accept a connection for which only another process waits.
//
// +checklocks:b.mu
func (b *backlog) boundBelow(t time.Time) {
	if l, ok := b.l.below().(interface{ SetDeadline(time.Time) error }); ok {
		_ = guarded(func() error { return l.SetDeadline(t) }) // the next Accept returns the error of a closed listener
	}
}

// share notes that another process may accept from the listener below. From now on run accepts only
// while the program waits for a connection.
func (b *backlog) share() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared = true
	b.settle()
}

func (b *backlog) isShared() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shared
}

// wakeAccept makes Accept and AcceptDDP look again.
func (b *backlog) wakeAccept() {
	b.arrived.Broadcast()
	b.ended.Broadcast()
}

// add adds a connection and begins its startup.
func (b *backlog) add(c *Conn) {
	err := c.startup.BeginForListener()
	e, closed := b.enter(c)
	b.arrived.Broadcast()
	if closed { // close has not seen this connection
		b.close()
	}
	if err != nil { // an error of the Config, which each call of the program returns
		return
	}
	c.background.Go(func() { // runs startup to its end, even if the program closes the connection
		inDDP := c.runStartup(func() { b.awaitSeat(e) })
		b.started(e)
		if inDDP {
			c.ddp.Receive()
		}
	})
}

// enter gives a connection a place. closed says that the backlog is closed.
func (b *backlog) enter(c *Conn) (e *entry, closed bool) {
	e = &entry{c: c}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.place = b.waiting.PushBack(e)
	if b.onlyDDP || b.seated == backlogSize { // run may have begun to accept before the last seat was taken
		b.move(e, unseated)
	} else {
		b.move(e, seated)
	}
	return e, b.closed
}

// outlives makes Listener.Wait wait for a connection that has left the backlog and that the program
// does not get.
func (b *backlog) outlives(c *Conn) {
	b.l.background.Begin()
	c.background.Then(b.l.background.End)
}

// awaitSeat waits until a connection whose Request has come is seated, or has left the backlog.
func (b *backlog) awaitSeat(e *entry) {
	b.mu.Lock()
	if e.stage == unseated {
		b.move(e, asking)
		b.settle()
	}
	seat := e.seat
	b.mu.Unlock()
	if seat != nil {
		<-seat
	}
}

// started is called when startup is over.
func (b *backlog) started(e *entry) {
	phase := e.c.startup.Phase()
	b.mu.Lock()
	plain := false
	switch {
	case e.stage == gone: // Accept has returned the connection, or the backlog is closed
	case phase == startup.DDP:
		b.move(e, switched)
	case phase == startup.Plain && b.onlyDDP:
		plain = true
		b.move(e, gone)
		b.outlives(e.c)
	case phase == startup.Failed:
		b.move(e, gone)
		b.outlives(e.c)
	}
	b.settle()
	b.mu.Unlock()
	b.ended.Broadcast()
	if plain {
		_ = e.c.Close() // no call waits for the error
	}
}

// accept waits for a connection for the program and returns it. onlyDDP says that the connection
// must be in DDP mode.
func (b *backlog) accept(onlyDDP bool) (*Conn, error) {
	news := &b.arrived
	if onlyDDP {
		news = &b.ended
	}
	for _, c := range b.begin(onlyDDP) {
		_ = c.Close() // no call waits for the error
	}
	for {
		changed, over := news.Wait(), b.deadline.Done()
		c, err := b.take(wait.IsClosed(over), onlyDDP)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-changed:
		case <-over:
		}
	}
}

// begin begins a call of accept, which ends when take returns a connection or an error. For
// AcceptDDP it removes the connections that are plain TCP, and the caller must close them.
func (b *backlog) begin(onlyDDP bool) (plain []*Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if onlyDDP && !b.onlyDDP {
		for next := b.waiting.Front(); next != nil; {
			e := next.Value.(*entry)
			next = next.Next()
			switch e.c.startup.Phase() {
			case startup.Sniffing, startup.Receiving:
				b.move(e, unseated)
			case startup.Plain:
				b.move(e, gone)
				b.outlives(e.c)
				plain = append(plain, e.c)
			}
		}
	}
	b.onlyDDP = onlyDDP
	b.settle()
	return plain
}

// take returns the next connection for accept, or the next error. It returns neither if it must be
// called again after a change. late says that the deadline has passed.
func (b *backlog) take(late, onlyDDP bool) (c *Conn, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := &b.waiting
	if onlyDDP {
		from = &b.switched
	}
	switch {
	case b.closed: // first, so that a program that polls with deadlines sees it
		err = b.opError("accept", net.ErrClosed)
	case late:
		err = b.opError("accept", os.ErrDeadlineExceeded)
	case from.Len() > 0:
		c = b.remove(from.Front())
	default:
		err, b.err = b.err, nil
	}
	if c != nil || err != nil {
		b.calls--
		b.settle()
	}
	return c, err
}

// remove takes a connection out of the backlog. at is its place in a list.
//
// +checklocks:b.mu
func (b *backlog) remove(at *list.Element) *Conn {
	e := at.Value.(*entry)
	b.move(e, gone)
	return e.c
}

// close resets the connections that Accept has not returned, as the operating system does with its
// own backlog.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	var left []*Conn
	for b.waiting.Len() > 0 {
		c := b.remove(b.waiting.Front())
		b.outlives(c)
		left = append(left, c)
	}
	b.settle()
	b.mu.Unlock()
	b.wakeAccept()
	for _, c := range left {
		c.startup.Disown()
		c.abortive.Store(true)
		_ = guarded(c.stream.Abort) // no call waits for the errors
		_ = guarded(c.Close)
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
