//go:build amd64 || arm64

package run

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/user"
)

// Listeners that share their port.
//
// With SO_REUSEPORT several sockets, also of other processes, listen at one address, and the kernel
// distributes connections among them. A token for such a listener may reach any of them. If all are
// the program's, that does no harm, because this process answers accept for each. Otherwise there
// are no tokens: see arrived and queue.

// A source is the listener that a connection came out of.
type source struct {
	inode  uint32 // of the socket
	port   uint16
	reuses bool // it may share the port
}

// sourceOf returns the listener that a descriptor is, and notes that the program has it.
func (t *connections) sourceOf(fd int) (s source) {
	var st unix.Stat_t
	at, err := localAddress(fd)
	if err != nil || unix.Fstat(fd, &st) != nil {
		return s // it is none
	}
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT)
	s = source{inode: uint32(st.Ino), port: at.Port(), reuses: v != 0 || err != nil}
	if s.reuses {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.own) >= ownMost { // most of them have been closed; the others come again
			clear(t.own)
		}
		t.own[s.inode] = struct{}{}
	}
	return s
}

// ownMost is the maximum number of listeners that are noted.
const ownMost = 4096

// A group is all sockets that listen at the port of a listener.
type group uint8

const (
	onlyOurs group = iota // the program has all of them, or the listener does not share its port
	mixed                 // others have some
	unclear               // the kernel does not tell, so others may have some
	ended                 // the listener is not among them any more
	groups   = iota
)

// mayBeShared reports whether others have sockets of the group, or may have some.
func (g group) mayBeShared() bool { return g == mixed || g == unclear }

// groupOf looks at the group of a listener. A socket that the program has, and that it has neither
// listened with nor accepted from since it started, is taken for another's.
func (t *connections) groupOf(s source) group {
	if !s.reuses {
		return onlyOurs
	}
	all, err := t.allListeners()
	if err != nil {
		return unclear
	}
	if !slices.Contains(all, user.Listener{Port: s.port, Inode: s.inode}) {
		return ended
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range all {
		if _, ours := t.own[l.Inode]; l.Port == s.port && !ours {
			return mixed
		}
	}
	return onlyOurs
}

// decideNow decides about a connection of a group that may be shared. The kernel has waited for the
// first bytes, and nothing could wake the program later. With TLS, the program gets the connection
// before startup.
func (t *connections) decideNow(a *arrival, g group) {
	t.sharedOnce[g].Do(func() {
		why := "other processes listen at the same port"
		if g == unclear {
			why = "the kernel does not tell (sock_diag) whether other processes listen at the same port"
		}
		t.log.Warn(why+", so silent peers are plain at once, and with TLS accept comes before startup", "at", a.local)
	})
	if a.speaks == unknown && t.plainToo {
		a.speaks = plain
	} else {
		a.speaks = overTLS
	}
}

// lookAgain is how often a connection that waits for an accept looks what has become of the
// listener.
const lookAgain = time.Second

// keep holds a connection, without a token, until the program calls accept for another reason. It
// returns true when the program has accepted it, and false once a token may stand for it, or it is
// over.
func (t *connections) keep(ctx context.Context, a *arrival) (accepted bool) {
	a.taken = make(chan struct{})
	t.mu.Lock()
	t.kept[a.from.inode] = append(t.kept[a.from.inode], a)
	t.mu.Unlock()
	for t.groupOf(a.from).mayBeShared() && ctx.Err() == nil {
		select {
		case <-a.taken:
			return true
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept[a.from.inode]
	i := slices.Index(kept, a)
	if i < 0 {
		return true // a moment ago
	}
	if t.kept[a.from.inode] = slices.Delete(kept, i, i+1); len(kept) == 1 {
		delete(t.kept, a.from.inode)
	}
	return false
}

// hasKept reports whether a connection is kept for a listener.
func (t *connections) hasKept(s source) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.kept[s.inode]) > 0
}

// takeKept returns the oldest connection that is kept for a listener, or nil.
func (t *connections) takeKept(s source) *arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept[s.inode]
	if len(kept) == 0 {
		return nil
	}
	a := kept[0]
	if t.kept[s.inode] = kept[1:]; len(kept) == 1 {
		delete(t.kept, s.inode)
	}
	close(a.taken)
	return a
}
