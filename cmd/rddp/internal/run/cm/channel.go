//go:build linux

package cm

import (
	"slices"
	"syscall"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// A Channel is a program's open file of rdma_cm: its ids, and the events about them. Any goroutine
// may call the methods.
type Channel struct {
	cm     *CM
	pid    int
	check  *check.Reporter // nil if the program is not checked
	notify func(pending bool)

	// The CM's mutex guards these, and callers of the methods whose names end in Locked hold it.
	events []*event
	added  chan struct{} // closed when an event is added
	closed bool
}

// An event is an event that the program has not taken yet.
type event struct {
	ucma.Event
	id    *id // the id that the event is about; for a ConnectRequest, the listener
	child *id // the new id of a ConnectRequest
}

// Open opens a channel for a process. notify is called when the first event is added and when the
// last one is taken. It must not call the Channel. name is what findings have as the process.
func (m *CM) Open(pid int, name string, notify func(pending bool)) *Channel {
	return &Channel{cm: m, pid: pid, check: m.check.Of(name), notify: notify, added: make(chan struct{})}
}

// HasIDs reports whether ids belong to the channel.
func (c *Channel) HasIDs() bool {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	for _, i := range c.cm.ids {
		if i.ch == c {
			return true
		}
	}
	return false
}

// Added returns a channel that is closed when the next event is added.
func (c *Channel) Added() <-chan struct{} {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	return c.added
}

// Take passes the oldest event to deliver, which may wait for the program: no lock is held. If
// deliver returns an error, the event is the first in the queue again. ok is false if there is no
// event. After Close, ok is always false, so a thread that waits while another thread closes the
// channel keeps waiting.
func (c *Channel) Take(deliver func(e *ucma.Event) syscall.Errno) (ok bool, e syscall.Errno) {
	v := c.take()
	if v == nil {
		return false, 0
	}
	if e := deliver(&v.Event); e != 0 {
		c.takeBack(v)
		return true, e
	}
	return true, 0
}

// take removes the oldest event from the queue, and returns it, or nil if there is none. The event
// counts as reported from now on: as soon as the program has it, it may destroy the id.
func (c *Channel) take() *event {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	if len(c.events) == 0 {
		return nil
	}
	v := c.events[0]
	c.events[0] = nil
	if c.events = c.events[1:]; len(c.events) == 0 {
		c.notify(false) // before the program continues
	}
	v.id.reported++
	if v.child != nil {
		v.id.pending--
		v.child.given = true
	}
	return v
}

// takeBack undoes take, unless the id has been destroyed in between.
func (c *Channel) takeBack(v *event) {
	c.cm.mu.Lock()
	defer c.cm.unlock()
	v.id.reported--
	if v.child != nil {
		v.id.pending++
		v.child.given = false
	}
	if v.id.state == destroyed {
		if v.child != nil && v.child.state != destroyed {
			v.child.destroy()
		}
		return
	}
	to := v.id.ch // the id may have migrated
	if v.child != nil {
		v.child.ch = to
	}
	to.events = slices.Insert(to.events, 0, v)
	to.toldLocked()
}

// addLocked adds an event.
func (c *Channel) addLocked(v *event) {
	if c.closed {
		return
	}
	c.events = append(c.events, v)
	c.cm.log.Debug("rdma_cm event", "id", v.ID, "event", v.Type.String(), "status", v.Status)
	c.toldLocked()
}

// toldLocked tells the program, and those who wait, of an event that has been added.
func (c *Channel) toldLocked() {
	if len(c.events) == 1 {
		c.notify(true)
	}
	close(c.added)
	c.added = make(chan struct{})
}

// removeLocked removes the events about i, and returns them.
func (c *Channel) removeLocked(i *id) (removed []*event) {
	var kept []*event
	for _, v := range c.events {
		if v.id == i {
			removed = append(removed, v)
		} else {
			kept = append(kept, v)
		}
	}
	if len(c.events) > 0 && len(kept) == 0 {
		c.notify(false)
	}
	c.events = kept
	return removed
}

// Close destroys the channel and its ids, which ends their connections.
func (c *Channel) Close() {
	c.cm.mu.Lock()
	defer c.cm.unlock()
	if c.closed {
		return
	}
	for _, i := range c.cm.ids {
		if i.ch == c {
			i.checkLeft()
			i.destroy()
		}
	}
	c.closed = true
	c.events = nil
}
