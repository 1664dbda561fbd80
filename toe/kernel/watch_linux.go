package kernel

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/toe"
)

// A watch opens a Gate when there is something to read. Go's netpoller can't do that without a
// goroutine that waits in it for this socket, and moving one there takes longer than a message. So
// the socket is also in an epoll instance of this package, for which a single goroutine waits: see
// watcher. Arming a watch takes one system call, and so does disarming it.
type watch struct {
	mu locks.Mutex[locks.Watch]
	// +checklocks:mu
	state watchState
	// what controlFunc must do
	order watchOrder // +checklocks:mu
	// where the socket is registered
	watcher *watcher // +checklocks:mu
	// identifies the socket to the watcher: unlike a descriptor's number, it is never reused
	id uint64 // +checklocks:mu
	// the result of the last attempt to arm the watch
	errno syscall.Errno // +checklocks:mu

	gate atomic.Pointer[toe.Gate] // to be opened

	// armed is false if the kernel won't report the socket. If it is true, the kernel will, or the
	// watcher is about to open gate. The watcher sets armed to false before it loads gate, and
	// Watch sets gate before it loads armed: so if Watch finds armed true, its Gate will open, and
	// no system call is needed.
	armed atomic.Bool

	controlFunc func(fd uintptr) // made by the first Watch, so that passing it costs no allocation

	link unarmedLink // while the kernel does not know of the watch yet
}

// A watchOrder says what controlFunc must do with the descriptor.
type watchOrder uint8

const (
	arm     watchOrder = iota
	armLate            // arm what was in the list: only the reader knows of SO_RCVLOWAT, and Watch has seen to it
	disarm
	remove // make the kernel forget the socket
)

// A watchState is the state of a watch outside the socket:
//
//	unwatched ──Watch──▶ registered ──Close──▶ closed
//	    │  └────Watch──▶ refused ──────Close─────▲
//	    └──────────────────────────────Close─────▲
type watchState uint8

const (
	unwatched  watchState = iota // nothing: Watch has not been called
	registered                   // the watcher knows the socket
	refused                      // nothing: the operating system did not allow it, and won't be asked again
	closed                       // nothing: Close was called, or nothing more can arrive
)

var watchNames = [...]string{"unwatched", "registered", "refused", "closed"}

func (s watchState) String() string { return watchNames[s] }

var watchNext = states.Table[watchState]{
	unwatched:  states.To(registered, refused, closed),
	registered: states.To(closed),
	refused:    states.To(closed),
	closed:     states.To(closed), // Close may come after the end of the input
}

// become is the only place where the state changes.
//
// +checklocks:w.mu
func (w *watch) become(next watchState) { watchNext.Become(&w.state, next) }

// The events requested from epoll. Each arming causes at most one report. (Without EPOLLONESHOT
// epoll would report a socket that nobody reads endlessly. It would also report a disarmed one,
// because it always reports EPOLLHUP and EPOLLERR.)
const (
	armedEvents    = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT
	disarmedEvents = unix.EPOLLONESHOT
)

// Watch registers the socket with the watcher at the first call.
func (s *socket) Watch(g *toe.Gate) bool {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case refused:
		return false
	case closed:
		g.Open()
		return true
	}
	w.gate.Store(g)
	crowd := w.isCrowd()
	if w.armed.Load() && !s.poll.marked {
		return true
	}
	if crowd && w.state == registered && !s.poll.marked {
		unarmed.add(s)
		w.watcher.keep()
		return true
	}
	if w.controlFunc == nil {
		w.controlFunc = s.controlWatch
	}
	// Control keeps the descriptor open during the call, even if the net.Conn below is closed.
	w.order = arm
	if err := s.raw.Control(w.controlFunc); err != nil { // the net.Conn is closed
		g.Open()
		return true
	}
	if w.errno != 0 {
		w.gate.Store(nil)
		w.armed.Store(false)
		return false
	}
	w.watcher.attend()
	return true
}

// controlWatch executes the watch's order.
//
// +checklocksignore: its callers hold watch.mu, which the checker does not see through controlFunc
func (s *socket) controlWatch(fd uintptr) {
	w := &s.watch
	switch w.order {
	case arm:
		s.armWatch(fd)
	case armLate:
		w.armed.Store(true)
		w.errno = epollCtl(w.watcher.epfd, unix.EPOLL_CTL_MOD, fd, armedEvents, w.id)
	case disarm:
		epollCtl(w.watcher.epfd, unix.EPOLL_CTL_MOD, fd, disarmedEvents, w.id)
	case remove:
		epollCtl(w.watcher.epfd, unix.EPOLL_CTL_DEL, fd, 0, 0)
	}
}

// armWatch arms the watch. If SO_RCVLOWAT stayed high, the kernel would not report a short segment.
//
// +checklocksignore: as controlWatch
func (s *socket) armWatch(fd uintptr) {
	if s.poll.marked {
		s.poll.setMark(fd, 1)
	}
	w := &s.watch
	w.armed.Store(true) // first, because the report may be faster than this goroutine
	if w.state == registered {
		w.errno = epollCtl(w.watcher.epfd, unix.EPOLL_CTL_MOD, fd, armedEvents, w.id)
		return
	}
	if w.errno = w.register(fd); w.errno != 0 {
		w.become(refused)
		return
	}
	w.become(registered)
}

// Unwatch disarms the watch, unless it has fired. Otherwise the kernel would wake the watcher in
// addition to the goroutine that reads, which costs more than this system call.
func (s *socket) Unwatch() {
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate.Store(nil)
	unarmed.remove(s)
	if w.armed.Swap(false) && w.state == registered {
		w.order = disarm
		s.raw.Control(w.controlFunc) // an error means that the connection is closed
	}
}

// endWatch ends the watch for good. It comes before the descriptor is closed: epoll itself forgets
// a socket only when the last duplicate of its descriptor is closed, and File makes duplicates. It
// returns the Gate of a watch that was under way, which must be opened afterwards.
func (s *socket) endWatch() *toe.Gate {
	w := &s.watch
	w.mu.Lock()
	var unused *watcher
	if w.state == registered {
		w.order = remove
		s.raw.Control(w.controlFunc) // an error means that the descriptor is closed
		unused = w.watcher.unregister(w.id)
	}
	w.become(closed)
	unarmed.remove(s)
	lastWatched.CompareAndSwap(w, nil) // which would keep the socket in memory
	w.armed.Store(false)
	g := w.gate.Swap(nil)
	w.mu.Unlock()
	if unused != nil {
		unused.end()
	}
	return g
}

// open opens g if it is not nil.
func open(g *toe.Gate) {
	if g != nil {
		g.Open()
	}
}

// fire opens the Gate, after a report, and reports whether it did.
func (w *watch) fire() bool {
	w.armed.Store(false)
	g := w.gate.Load()
	open(g)
	return g != nil
}

// attend makes sure that a thread waits for reports. The goroutine that arms a watch may be about
// to compute, on the only thread that waited in Go's netpoller. The runtime would then poll the
// netpoller only once in 10 ms. But when a goroutine becomes ready, the runtime wakes a thread for
// it if a processor is idle, and a thread that finds nothing more to do waits in the netpoller. So
// attend makes the second goroutine ready.
//
// This wake-up is a large part of an echo after a pause. So after many watches in a row without a
// report, the second goroutine itself waits for reports, in a system call. It then occupies a
// thread, and attend does nothing. The system call keeps a processor of the runtime for up to 10
// ms, until the monitor takes it back. So a program whose watches fire must not get here often, and
// a program with a single processor must not get here at all.
func (w *watcher) attend() {
	if !w.blocked.Load() {
		w.calm.Add(1)
		w.second.Open()
	}
}

// epollCtl calls epoll_ctl. The runtime does not learn of this system call, which never waits.
func epollCtl(epfd, op int, fd uintptr, events uint32, id uint64) syscall.Errno {
	e := unix.EpollEvent{Events: events, Fd: int32(id), Pad: int32(id >> 32)} // Fd and Pad are the user's data
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epfd), uintptr(op), fd, uintptr(unsafe.Pointer(&e)), 0, 0)
	return errno
}
