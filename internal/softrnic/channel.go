package softrnic

import (
	"syscall"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file has the channels for events, and the asynchronous events.

// A Channel carries events to a program. Any goroutine may use it.
type Channel interface {
	// Send sends an event. It does not wait. sent is false if the program has closed the channel,
	// or if it leaves many events unread and the same event waits already.
	Send(event []byte) (sent bool)
	// TakeBack removes the events for which match returns true from those that the program has not
	// read, and returns their number.
	TakeBack(match func(event []byte) bool) int
	// IsClosed reports whether the program has closed all descriptors of the channel.
	IsClosed() bool
	// IsLeft reports whether the process that has made the channel has its descriptor. Another one
	// may have inherited a copy.
	IsLeft() bool
	// Waits returns how the threads of that process wait for events of the channel. It returns the
	// zero Waiting if an event is there that the program has not read.
	Waits() check.Waiting
	Close()
}

// A channel is a completion channel of a program.
type channel struct {
	Channel
	users int // CQs, and one more until the device finds that the program has closed it
	fd    uint32
	left  bool // it was open when the program ended, or closed the device
}

// leave notes that a user has gone. The last one closes the channel. c may be nil.
func (c *channel) leave() {
	if c == nil {
		return
	}
	if c.users--; c.users == 0 {
		c.Close()
	}
}

// GetContext makes the channel for asynchronous events. A context has only one.
//
// +checklocks:c.mu
func (c *commands) GetContext() (fd uint32, err error) {
	c.asyncMu.Lock()
	defer c.asyncMu.Unlock()
	if c.async != nil {
		return 0, uverbs.Refuse(syscall.EINVAL, "the context has been made")
	}
	fd, ch, err := c.caller.NewChannel()
	if err != nil {
		return 0, uverbs.Refuse(syscall.EMFILE, "no channel for events: %v", err)
	}
	c.async = ch
	c.opens()
	c.stopFaults = c.dev.faults.Start(func(e uverbs.EventType) { c.raise(onlyPort, e) })
	return fd, nil
}

// raise sends an asynchronous event about an object, and returns how many have been sent: 0 or 1.
func (c *Context) raise(userHandle uint64, e uverbs.EventType) (n uint32) {
	c.asyncMu.Lock()
	defer c.asyncMu.Unlock()
	if c.async != nil && c.async.Send(uverbs.AppendAsyncEvent(nil, userHandle, e)) {
		c.traceEvent("asynchronous event", e)
		return 1
	}
	return 0
}

// reported returns how many of the n asynchronous events about an object the program has read. The
// others are taken back: the program cannot acknowledge them any more.
func (c *Context) reported(userHandle uint64, n uint32) uint32 {
	c.asyncMu.Lock()
	defer c.asyncMu.Unlock()
	if n == 0 || c.async == nil {
		return 0
	}
	return n - min(n, uint32(c.async.TakeBack(isAbout(userHandle))))
}

func isAbout(userHandle uint64) func([]byte) bool {
	return func(event []byte) bool {
		h, err := uverbs.ParseEvent(event)
		return err == nil && h == userHandle
	}
}

// CreateCompChannel makes a channel for completions.
//
// +checklocks:c.mu
func (c *commands) CreateCompChannel() (fd uint32, err error) {
	fd, ch, err := c.caller.NewChannel()
	if err != nil {
		return 0, uverbs.Refuse(syscall.EMFILE, "no channel for events: %v", err)
	}
	for old, x := range c.channels { // the device does not learn when the program closes a channel
		if old.IsClosed() {
			delete(c.channels, old)
			x.leave()
		}
	}
	x := &channel{Channel: ch, users: 1, fd: fd}
	c.channels[ch] = x
	c.makes(x, created)
	return fd, nil
}
