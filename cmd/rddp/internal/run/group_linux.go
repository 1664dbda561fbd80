//go:build amd64 || arm64

package run

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/softrnic/user"
)

// Listeners that share their port.
//
// With SO_REUSEPORT, several sockets, also of other processes, listen at one address, and the
// kernel distributes connections among them. A token for such a listener may reach any of them. If
// all belong to the program, that does no harm, because this process answers accept for each.
// Otherwise there are no tokens: see arrived and queue.

// A source is the listener that a connection came from.
type source struct {
	inode  uint32 // of the socket
	port   uint16
	reuses bool // it may share the port
}

// sourceOf returns the source for a listener's descriptor. If the listener may share its port, it
// records the listener as the program's.
func (t *tcpRelay) sourceOf(fd int) (s source) {
	var st unix.Stat_t
	at, err := localAddress(fd)
	if err != nil || unix.Fstat(fd, &st) != nil {
		return s // not a listener
	}
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT)
	s = source{inode: uint32(st.Ino), port: at.Port(), reuses: v != 0 || err != nil}
	if s.reuses {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.own) >= ownMost { // most of them have been closed; the others will be added again
			clear(t.own)
		}
		t.own[s.inode] = struct{}{}
	}
	return s
}

// ownMost is the maximum number of listeners in tcpRelay.own.
const ownMost = 4096

// A group says who owns the sockets that listen at a listener's port.
type group uint8

const (
	onlyOurs group = iota // all belong to the program, or the listener does not share its port
	mixed                 // some belong to other processes
	unclear               // the kernel does not tell, so some may belong to other processes
	ended                 // the listener no longer listens
	groups   = iota
)

// mayBeShared reports whether some sockets of the group belong, or may belong, to other processes.
func (g group) mayBeShared() bool { return g == mixed || g == unclear }

// groupOf returns the group of a listener. It takes a socket for another process's if the program
// has neither listened with it nor accepted from it since it started.
func (t *tcpRelay) groupOf(s source) group {
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

// decideNow decides on the protocol of a connection whose group may be shared. The kernel has
// already waited for the first bytes, and nothing could wake the program later. With TLS, the
// program gets the connection before startup.
func (t *tcpRelay) decideNow(a *arrival, g group) {
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

// lookAgain is the interval at which keep checks the listener.
const lookAgain = time.Second

// keep holds a connection, without a token, until the program happens to call accept. It returns
// true when the program has accepted the connection. It returns false when the connection may have
// a token, its listener is closed, or ctx is done.
func (t *tcpRelay) keep(ctx context.Context, a *arrival) (accepted bool) {
	a.accepted = make(chan struct{})
	t.mu.Lock()
	t.kept[a.from.inode] = append(t.kept[a.from.inode], a)
	t.mu.Unlock()
	for t.groupOf(a.from).mayBeShared() && ctx.Err() == nil {
		select {
		case <-a.accepted:
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
		return true // takeKept has just taken it
	}
	if t.kept[a.from.inode] = slices.Delete(kept, i, i+1); len(kept) == 1 {
		delete(t.kept, a.from.inode)
	}
	return false
}

// hasKept reports whether a connection is kept for a listener.
func (t *tcpRelay) hasKept(s source) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.kept[s.inode]) > 0
}

// takeKept returns the oldest connection that is kept for a listener, or nil.
func (t *tcpRelay) takeKept(s source) *arrival {
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
	close(a.accepted)
	return a
}
