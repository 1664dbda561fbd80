//go:build amd64 || arm64

package softrnic

import "testing"

// TestClosedChannel: a channel that the program has closed ends when the program makes another one,
// or with its last CQ.
func TestClosedChannel(t *testing.T) {
	p := newProgram(t, newDevice(t))
	ended := func(i int) bool {
		c := p.channels[i]
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ended
	}
	var fds [2]int
	for i := range fds {
		var err error
		if fds[i], err = p.Channel(); err != nil {
			t.Fatal(err)
		}
	}
	cq, err := p.CQ(10, fds[1], 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		c := p.channels[fd]
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
	}
	last, err := p.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if !ended(fds[0]) || ended(fds[1]) || ended(last) {
		t.Errorf("%v, %v and %v; want only the first channel to end", ended(fds[0]), ended(fds[1]), ended(last))
	}
	if _, err := p.Destroy(20, cq.Handle); err != nil || !ended(fds[1]) {
		t.Errorf("the end of the last CQ: %v; the channel has ended: %v", err, ended(fds[1]))
	}
}
