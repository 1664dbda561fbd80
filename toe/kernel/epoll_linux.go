package kernel

import (
	"bytes"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// This file has the epoll instance in which sockets are watched, and the goroutines that wait for
// it.

// A watcher is an epoll instance and the goroutine that waits for it. The process has one while it
// has watched sockets. It waits in Go's netpoller, because an epoll instance is itself a file that
// can be polled, so it occupies no thread. A second goroutine makes sure that a thread polls the
// netpoller: see attend. A third one arms the watches that nobody else arms: see keep.
type watcher struct {
	epfd   int
	file   *os.File // owns epfd
	events [64]unix.EpollEvent

	second  *toe.Gate    // wakes the second goroutine; see attend
	blocked atomic.Bool  // the second goroutine waits for reports, in a thread of its own
	calm    atomic.Int32 // how many times attend was called since the last report
	// After this many calls of attend without a report, the second goroutine blocks. Only that
	// goroutine uses after.
	after int32
	third *toe.Gate   // wakes the third goroutine; see keep
	keeps atomic.Bool // the third goroutine looks after the list of unarmed watches
	ended atomic.Bool // end has been called

	// watching.mu guards these.
	watches map[uint64]*watch
	lastID  uint64
	waker   int // an eventfd, which ends the wait of the second goroutine; -1 until it first blocks
}

const (
	calmFirst = 64      // after at the beginning
	calmMore  = 16      // after is multiplied by this when the blocked goroutine gets a report
	calmMost  = 1 << 24 // the maximum of after
)

// watching holds the watcher for new sockets. now is nil if no socket is watched.
var watching struct {
	mu locks.Mutex[locks.Watcher]
	// +checklocks:mu
	now *watcher
}

// register registers the socket of w, armed.
//
// +checklocks:w.mu
func (w *watch) register(fd uintptr) syscall.Errno {
	watching.mu.Lock()
	defer watching.mu.Unlock()
	to := watching.now
	if to == nil {
		var errno syscall.Errno
		if to, errno = newWatcher(); errno != 0 {
			return errno
		}
	}
	id := to.lastID + 1
	if errno := epollCtl(to.epfd, unix.EPOLL_CTL_ADD, fd, armedEvents, id); errno != 0 {
		if watching.now == nil {
			to.file.Close()
		}
		return errno
	}
	to.lastID, to.watches[id] = id, w
	w.watcher, w.id = to, id
	if watching.now == nil {
		watching.now = to
		to.start()
	}
	return 0
}

// unregister forgets the socket with this id. If it was the last one, unregister returns the
// watcher, which must be ended.
func (w *watcher) unregister(id uint64) (unused *watcher) {
	watching.mu.Lock()
	defer watching.mu.Unlock()
	delete(w.watches, id)
	if len(w.watches) > 0 {
		return nil
	}
	watching.now = nil
	return w
}

func newWatcher() (*watcher, syscall.Errno) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err.(syscall.Errno)
	}
	unix.SetNonblock(epfd, true) // without this NewFile would not use the netpoller
	w := &watcher{epfd: epfd, file: os.NewFile(uintptr(epfd), "epoll"), second: toe.NewGate(toe.WatchOutside), third: toe.NewGate(toe.WatchOutside),
		after: calmFirst, watches: make(map[uint64]*watch), waker: -1}
	if err := w.file.SetReadDeadline(time.Time{}); err != nil { // the netpoller has not taken the file
		w.file.Close()
		return nil, unix.EPERM
	}
	return w, 0
}

// start starts the watcher's goroutines. They must not belong to the synctest bubble whose socket
// happens to be the first one: the bubble could not end while another socket is watched. Every
// goroutine that is started in a bubble belongs to it. But cleanup functions run outside of any
// bubble, as package synctest promises. A program other than a test has no bubbles, and so does not
// pay for the garbage collection.
func (w *watcher) start() {
	if !inBubble() {
		w.runAll()
		return
	}
	runtime.AddCleanup(new(*watcher), (*watcher).runAll, w)
	runtime.GC()
}

func (w *watcher) runAll() {
	go w.run()
	go w.runSecond()
	go w.runThird()
}

// runSecond is the second goroutine.
func (w *watcher) runSecond() {
	raw, err := w.file.SyscallConn()
	for err == nil && !w.ended.Load() {
		w.second.Wait()
		if w.calm.Load() < w.after {
			continue
		}
		w.after = min(calmMore*w.after, calmMost)
		if runtime.GOMAXPROCS(0) > 1 && w.makeWaker() {
			w.blocked.Store(true)
			err = raw.Control(w.block) // keeps the descriptor open during the call
			w.blocked.Store(false)     // this goroutine's thread is now about to wait in the netpoller
		}
	}
}

// block waits for reports, and handles some.
func (w *watcher) block(fd uintptr) {
	var events [8]unix.EpollEvent
	for {
		n, err := unix.EpollWait(int(fd), events[:], -1)
		if err != nil && err != unix.EINTR || w.take(events[:max(n, 0)]) || w.ended.Load() {
			return
		}
	}
}

// makeWaker makes the waker if there is none. It reports false if the watcher has ended, or the
// system allows no further descriptor.
func (w *watcher) makeWaker() bool {
	watching.mu.Lock()
	defer watching.mu.Unlock()
	if w.waker >= 0 || w.ended.Load() {
		return !w.ended.Load()
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return false
	}
	if errno := epollCtl(w.epfd, unix.EPOLL_CTL_ADD, uintptr(fd), unix.EPOLLIN, 0); errno != 0 { // no watch has id 0
		unix.Close(fd)
		return false
	}
	w.waker = fd
	return true
}

// inBubble reports whether this goroutine belongs to a bubble. Only the header of its stack says
// so.
func inBubble() bool {
	var b [128]byte
	header, _, _ := bytes.Cut(b[:runtime.Stack(b[:], false)], []byte{'\n'})
	return bytes.Contains(header, []byte("synctest bubble"))
}

// run waits for reports until the watcher ends.
func (w *watcher) run() {
	raw, err := w.file.SyscallConn()
	if err == nil {
		raw.Read(w.report) // the error is that of the end
	}
}

// report handles all pending reports. It returns false, because there will be more.
func (w *watcher) report(fd uintptr) bool {
	for {
		// epoll_pwait, because not every architecture has epoll_wait.
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&w.events[0])), uintptr(len(w.events)), 0, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			return false
		}
		w.take(w.events[:n])
		if int(n) < len(w.events) {
			return false
		}
	}
}

// take opens the Gates of the sockets that are reported, and reports whether it opened one.
func (w *watcher) take(events []unix.EpollEvent) (opened bool) {
	for _, e := range events {
		watching.mu.Lock()
		watch := w.watches[idOf(e)]
		watching.mu.Unlock()
		if watch != nil && watch.fire() { // nil: the socket was closed in the meantime
			opened = true
		}
	}
	if opened {
		w.calm.Store(0)
	}
	return opened
}

// end ends the watcher. When it returns, the descriptors are closed, and the goroutines are about
// to end.
func (w *watcher) end() {
	watching.mu.Lock()
	w.ended.Store(true) // under the lock, so makeWaker makes no waker after this
	waker := w.waker
	watching.mu.Unlock()
	w.second.Open()
	w.keeps.Store(true)
	w.third.Open()
	if waker >= 0 {
		unix.Write(waker, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	w.file.Close() // returns when the second goroutine has left block
	if waker >= 0 {
		unix.Close(waker)
	}
}

// idOf returns the id that was passed to epollCtl.
func idOf(e unix.EpollEvent) uint64 { return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32 }
