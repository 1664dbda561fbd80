//go:build amd64 || arm64

package run

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A backlog holds the events of a channel that don't fit into its pipe, because the program has
// left thousands unread. The kernel's own channels lose no events. An event that is already waiting
// is not added again, since it would tell the program nothing new. So a backlog holds at most one
// event for each object and kind.
type backlog struct {
	events [][]byte
	known  map[string]struct{} // the events
	// end is a copy of the channel's write end, on which the writing goroutine waits for room; nil
	// if no such goroutine runs
	end *os.File
}

// add adds an event. It returns false if the event is already waiting.
func (b *backlog) add(event []byte) bool {
	if _, waits := b.known[string(event)]; waits {
		return false
	}
	if b.known == nil {
		b.known = make(map[string]struct{})
	}
	b.known[string(event)] = struct{}{}
	b.events = append(b.events, slices.Clone(event))
	return true
}

// remove removes the events that match, and returns their number.
func (b *backlog) remove(match func(event []byte) bool) int {
	before := len(b.events)
	b.events = slices.DeleteFunc(b.events, func(e []byte) bool {
		matches := match(e)
		if matches {
			delete(b.known, string(e))
		}
		return matches
	})
	return before - len(b.events)
}

// sendLater adds an event to the backlog. A goroutine writes it once there is room.
//
// +checklocks:c.mu
func (c *channel) sendLater(event []byte) (sent bool) {
	if !c.later.add(event) {
		return false
	}
	if c.later.end == nil {
		fd, err := unix.FcntlInt(uintptr(c.near), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			c.later.remove(func(e []byte) bool { return string(e) == string(event) })
			return false
		}
		c.later.end = os.NewFile(uintptr(fd), "events")
		go c.writeLater(c.later.end)
	}
	return true
}

// writeLater writes the backlog until it is empty, or the channel is closed at either end.
func (c *channel) writeLater(end *os.File) {
	defer end.Close()
	raw, err := end.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Write(func(uintptr) (over bool) { // it fails once the channel is closed
		c.mu.Lock()
		defer c.mu.Unlock()
		for len(c.later.events) > 0 && c.near >= 0 {
			e := c.later.events[0]
			_, err := unix.Write(c.near, e)
			if err == unix.EAGAIN { //nolint:errorlint // as the call returns it
				return false
			}
			delete(c.later.known, string(e)) // it is written, or nobody will ever read it
			c.later.events = c.later.events[1:]
		}
		c.later.end = nil
		return true
	})
}
