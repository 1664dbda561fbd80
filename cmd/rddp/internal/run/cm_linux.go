//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// A channelFile is rdma_cm as a process has opened it. The process has the read end of a pipe. The
// pipe holds a byte while an event waits, so poll and similar calls work in the kernel. This
// process has the write end, which shows when the last copy of the read end is closed.
//
// Commands are writes, which the filter recognizes by the number of the descriptor. A write through
// another number fails with EBADF, because the program has a read end.
type channelFile struct {
	near    int // the write end
	inode   uint64
	opener  int // the process that has opened it
	fd      int // the number of the descriptor there
	number  int // among all that programs have opened
	channel *cm.Channel
	checked *check.Reporter // nil if the program is not checked
	// the process has ended and left the channel, and no other has used it since
	left atomic.Bool
	over chan struct{} // closed once the channel has ended
}

func (f *channelFile) String() string { return fmt.Sprintf("rdma_cm event channel %d", f.number) }

// channels is the set of open files of rdma_cm.
type channels struct {
	log   *slog.Logger
	epoll int // reports the pipes whose read ends are all closed

	mu locks.Mutex[locks.Leaf]
	// by the number of the write end
	files map[int]*channelFile // +checklocks:mu
	// how many were opened
	opened int // +checklocks:mu
	// those whose end is under way
	ending map[*channelFile]struct{} // +checklocks:mu
}

func (s *channels) init(log *slog.Logger) (err error) {
	s.log = log
	s.files = make(map[int]*channelFile)       // +checklocksignore: nobody else has it yet
	s.ending = make(map[*channelFile]struct{}) // +checklocksignore: nobody else has it yet
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	go s.watch()
	return nil
}

// close closes all channels. The epoll stays until the process ends.
func (s *channels) close() {
	s.mu.Lock()
	files := s.files
	s.files = make(map[int]*channelFile)
	s.mu.Unlock()
	for _, f := range files {
		f.close()
	}
}

// watch closes the channels that the program has closed, or that were closed when it ended.
func (s *channels) watch() {
	for {
		if _, err := s.look(-1); err != nil {
			return
		}
	}
}

// look waits for closed channels, for so many milliseconds or, if that is -1, for ever. It begins
// to end those that it finds, and reports whether there may be more.
func (s *channels) look(wait int) (more bool, err error) {
	var events [64]unix.EpollEvent
	n, err := unix.EpollWait(s.epoll, events[:], wait)
	if err != nil && !errors.Is(err, syscall.EINTR) {
		return false, err
	}
	for _, e := range events[:max(n, 0)] {
		if f := s.take(int(e.Fd)); f != nil {
			_ = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_DEL, f.near, nil)
			go func() { // the end of a connection waits for accesses to the program's memory
				defer survives(s.log, "an rdma_cm channel that is closed")
				defer s.ended(f)
				f.close()
			}()
		}
	}
	return n == len(events), nil
}

// take moves a channel from those that are open to those that are ending. It returns nil if another
// look has found it before.
func (s *channels) take(near int) *channelFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[near]
	if f != nil {
		delete(s.files, near)
		s.ending[f] = struct{}{}
	}
	return f
}

func (s *channels) ended(f *channelFile) {
	s.mu.Lock()
	delete(s.ending, f)
	s.mu.Unlock()
	close(f.over)
}

// settleWithin is how long settle waits: the end of a channel may have to wait for memory that the
// program withholds.
const settleWithin = time.Second

// settle waits until the channels have ended that are closed already, by the program or because it
// has ended.
func (s *channels) settle() {
	for more := true; more; {
		more, _ = s.look(0)
	}
	s.mu.Lock()
	ending := slices.Collect(maps.Keys(s.ending))
	s.mu.Unlock()
	late := time.After(settleWithin)
	for _, f := range ending {
		select {
		case <-f.over:
		case <-late:
			return
		}
	}
}

func (f *channelFile) close() {
	if f.left.Load() {
		f.checked.Add(check.Leaves(f.String(), "rdma_destroy_event_channel"))
	}
	f.channel.Close()
	unix.Close(f.near)
}

// exits is the event that a process is about to end. It leaves the channels without ids that it has
// opened and not closed.
func (s *channels) exits(pid int) {
	var all []*channelFile
	s.mu.Lock()
	for _, f := range s.files {
		if f.opener == pid {
			all = append(all, f)
		}
	}
	s.mu.Unlock()
	for _, f := range all {
		f.left.Store(!f.channel.HasIDs() && hasPipe(pid, f.fd, f.inode))
	}
}

// find returns the channel that a descriptor of a thread's process stands for, or nil.
func (s *channels) find(thread, fd int) *channelFile {
	inode, ok := pipeOf(thread, fd)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.inode == inode {
			return f
		}
	}
	return nil
}

// openChannel opens rdma_cm for the program.
func (s *supervisor) openChannel(c *seccomp.Call, flags int) (int, error) {
	pid, err := process.Leader(c.Thread)
	if err != nil {
		return -1, err
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return -1, err
	}
	defer unix.Close(ends[0])
	f := &channelFile{near: ends[1], opener: pid, checked: s.checked, over: make(chan struct{})}
	var st unix.Stat_t
	fd := -1
	if flags&unix.O_NONBLOCK == 0 { // the write end never blocks, even if the program fills the pipe
		err = unix.SetNonblock(ends[0], false)
	}
	if err == nil {
		err = unix.Fstat(f.near, &st)
	}
	if err == nil {
		f.inode = st.Ino
		fd, err = s.numbers.add(s.program.Listener, c, pid, seccomp.Channels, ends[0], flags&unix.O_CLOEXEC != 0)
	}
	if err != nil {
		unix.Close(f.near)
		return -1, err
	}
	f.fd, f.channel = fd, s.cm.Open(pid, s.checkedName(pid), f.notify)
	s.channels.mu.Lock()
	s.channels.opened++
	f.number = s.channels.opened
	s.channels.files[f.near] = f
	s.channels.mu.Unlock()
	if s.checked != nil {
		s.checked.Makes(f.String(), "created", s.site(c))
	}
	// EPOLLERR is always reported; it means that no read end is left.
	if err := unix.EpollCtl(s.channels.epoll, unix.EPOLL_CTL_ADD, f.near, &unix.EpollEvent{Fd: int32(f.near)}); err != nil {
		s.log.Warn("the end of an event channel will not be noticed", "err", err)
	}
	s.tellProcess(pid)
	s.log.Info("rdma_cm is open", "pid", pid, "fd", fd)
	return fd, nil
}

// notify makes the program's end readable, or empties it. The caller holds a lock of the channel,
// so notify must not call the channel.
func (f *channelFile) notify(pending bool) {
	if pending {
		_, _ = unix.Write(f.near, []byte{0}) // if there is no read end, the channel ends soon
		return
	}
	// This process has no read end, but it can open the pipe again.
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.near), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var b [8]byte
	_, _ = unix.Read(fd, b[:]) // the byte written above
	unix.Close(fd)
}

// write answers a write to a file of rdma_cm, which is a command.
func (s *supervisor) write(c *seccomp.Call) {
	if s.ringNow(c) { // first, because a program that is checked makes far more of these writes
		return
	}
	f := s.channels.find(c.Thread, int(int32(c.Args[0])))
	if f == nil {
		s.program.Continue(c) // a file of something else
		return
	}
	f.left.Store(false)
	opener := threadMemoryOf(s.program, c)
	n := c.Args[2]
	var b [ucma.HeaderLen + ucma.MaxIn]byte
	in := b[:min(n, uint64(len(b)))]
	if n >= ucma.HeaderLen && opener.Read(in, c.Args[1]) != nil {
		s.program.Answer(c, 0, syscall.EFAULT)
		return
	}
	h, rest, err := ucma.ParseHeader(in)
	if err != nil || uint64(h.In)+ucma.HeaderLen > n {
		s.program.Answer(c, 0, syscall.EINVAL)
		return
	}
	rest = rest[:min(len(rest), h.In)]
	if h.Command == ucma.GetEvent {
		s.getEvent(c, f, rest, h.Out)
		return
	}
	by := &cmCaller{s: s, call: c}
	switch h.Command {
	case ucma.CreateID, ucma.DestroyID, ucma.Connect:
		by.site = s.site(c) // here, and not while others wait
	}
	began := s.trace.Now()
	at, out, e := f.channel.Do(by, h.Command, rest, h.Out)
	answer := func(in []byte, at uint64, out []byte, e syscall.Errno) {
		if s.trace != nil {
			s.tellCM(c, began, h.Command, in, out, e)
		}
		if e == 0 && len(out) > 0 {
			e = errnoOf(opener.Write(out, at))
		}
		s.program.Answer(c, int64(n), e)
	}
	if e != syscall.EADDRINUSE {
		answer(rest, at, out, e)
		return
	}
	// Whoever has the port may have ended just now
	rest = bytes.Clone(rest)
	s.later(c, func() {
		s.channels.settle()
		at, out, e := f.channel.Do(by, h.Command, rest, h.Out)
		answer(rest, at, out, e)
	})
}

// A cmCaller is the program that sent an rdma_cm command.
type cmCaller struct {
	s    *supervisor
	call *seccomp.Call
	site check.Site
}

func (c *cmCaller) Site() check.Site { return c.site }

func (c *cmCaller) IsThere(addr, n uint64) bool {
	number, args, ok := callOf(c.call.Thread, c.call.Thread)
	return ok && number == unix.SYS_FUTEX && args[0]-addr < n && c.s.site(c.call) == c.site
}

func (c *cmCaller) Read(b []byte, addr uint64) error {
	return process.Thread(c.call.Thread).Read(b, addr)
}

func (c *cmCaller) Channel(fd uint32) *cm.Channel {
	if f := c.s.channels.find(c.call.Thread, int(fd)); f != nil {
		return f.channel
	}
	return nil
}

// getEvent answers GET_EVENT. If there is no event, a goroutine waits for one; on a nonblocking
// descriptor, the call fails with EAGAIN instead.
func (s *supervisor) getEvent(c *seccomp.Call, f *channelFile, in []byte, room int) {
	at, err := ucma.ParseGetEvent(in)
	switch {
	case room < ucma.LeastEventLen:
		s.program.Answer(c, 0, syscall.ENOSPC)
		return
	case err != nil:
		s.program.Answer(c, 0, syscall.EINVAL)
		return
	}
	if s.deliver(c, f, at, room) {
		return
	}
	if nonBlocking(c.Thread, int(int32(c.Args[0]))) {
		s.program.Answer(c, 0, syscall.EAGAIN)
		return
	}
	s.later(c, func() { s.awaitEvent(c, f, at, room) })
}

// deliver answers GET_EVENT with the oldest event. It returns false if there is none. If the
// program cannot receive the event, it stays in the queue.
func (s *supervisor) deliver(c *seccomp.Call, f *channelFile, at uint64, room int) bool {
	done, e := f.channel.Take(func(v *ucma.Event) syscall.Errno {
		b := v.AppendTo(nil)
		tell := s.tellsEvent(c, v)
		if threadMemoryOf(s.program, c).Write(b[:min(len(b), room)], at) != nil {
			return syscall.EFAULT
		}
		if !s.program.Answer(c, int64(c.Args[2]), 0) {
			return syscall.EINTR
		}
		tell()
		return 0
	})
	if e != 0 {
		s.program.Answer(c, 0, e)
	}
	return done
}

// awaitEvent answers GET_EVENT when an event or a signal arrives.
func (s *supervisor) awaitEvent(c *seccomp.Call, f *channelFile, at uint64, room int) {
	every := s.pollers.enter()
	defer s.pollers.leave()
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		added := f.channel.Added()
		if s.deliver(c, f, at, room) {
			return
		}
		select {
		case <-added:
			continue
		case <-timer.C:
		}
		if pending, ok := hasSignal(c.Thread); pending || !ok {
			s.program.Answer(c, 0, syscall.EINTR)
			return
		}
		timer.Reset(s.pollers.interval())
	}
}

// nonBlocking reports whether a descriptor of a thread's process is nonblocking.
func nonBlocking(thread, fd int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", thread, fd))
	flags, ok := field(b, "flags:", 8)
	return err == nil && ok && flags&unix.O_NONBLOCK != 0
}

// hasSignal reports whether a signal is pending that the thread handles and does not block. ok is
// false if the thread has ended.
func hasSignal(thread int) (pending, ok bool) {
	own, shared, ok := signalsOf(thread)
	return own || shared, ok
}

// signalsOf reports whether a signal is pending that the thread handles and does not block: one for
// the thread itself, and one for its process, which another thread may handle. ok is false if the
// thread has ended.
func signalsOf(thread int) (own, shared, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return false, false, false
	}
	ofThread, _ := field(b, "SigPnd:", 16)
	ofProcess, _ := field(b, "ShdPnd:", 16)
	blocked, _ := field(b, "SigBlk:", 16)
	caught, _ := field(b, "SigCgt:", 16)
	handled := caught &^ blocked
	return ofThread&handled != 0, ofProcess&handled != 0, true
}

// field returns the number after a name, in a file of lines like "name: number".
func field(b []byte, name string, base int) (uint64, bool) {
	_, rest, found := bytes.Cut(b, []byte(name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), base, 64)
	return n, found && err == nil
}
