//go:build amd64 || arm64

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/cm"
	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/cmd/rddp/internal/run/where"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
	"github.com/rddp/rddp/internal/softrnic/trace"
)

// Stage executes the program if Run has started this process for that. Otherwise it returns. The
// main function of an executable that uses Run must call Stage first.
func Stage() {
	where.Stage()
	seccomp.Stage()
}

// A supervisor answers the system calls of a program and its children.
type supervisor struct {
	log      *slog.Logger
	device   *softrnic.Device
	tree     *tree
	program  *seccomp.Program
	doorbell *doorbell
	cm       *cm.CM
	channels channels
	events   eventChannels
	numbers  numbers
	pollers  signalPollers
	listings listings
	netlink  *netlink
	tcp      *tcpRelay       // nil if there are no rules
	checked  *check.Reporter // nil if the program is not checked
	where    *where.Finder   // nil if it is not
	trace    *trace.Tracer   // nil if there is none
	capture  *capture        // nil if there is none
	faults   *fault.Injector // nil if there are none

	entered atomic.Bool // a process may have a working directory in the tree

	closeOnce sync.Once
	blindOnce sync.Once // logs the first process whose memory cannot be read

	mu locks.Mutex[locks.Supervisor]
	// the open files of the device
	files map[*openFile]struct{} // +checklocks:mu
}

// Run runs the program and returns its exit status. If a signal ends the program, Run ends this
// process by the same signal. An error means that the program could not be started, or that this
// system does not support Run. If ctx is done before the program is started, Run returns the error
// of ctx. Later, ctx has no effect, because the program gets the signals itself.
func Run(ctx context.Context, c Config) (status int, err error) {
	signals := newForwarder()
	defer signals.stop()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if len(c.Addresses) == 0 {
		if c.Addresses, err = DefaultAddresses(); err != nil {
			return 0, err
		}
	}
	s, err := newSupervisor(c)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if s.tcp, err = newTCPRelay(c); err != nil {
		return 0, err
	}
	// A daemon that the program leaves behind becomes a child of the guardian, or of this process
	// if there is no guardian. So this process may access its memory even if the system allows that
	// for descendants only.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it such a daemon is an orphan
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.program, err = seccomp.Start(c.Args, s.calls())
	if e := (*seccomp.EndedError)(nil); errors.As(err, &e) {
		return s.ends(unix.WaitStatus(e.Signal), 0), nil // as if it had begun
	}
	switch {
	case errors.Is(err, seccomp.ErrNotFound):
		return 0, &StartError{127, err}
	case errors.Is(err, seccomp.ErrNotRunnable):
		return 0, &StartError{126, err}
	case err != nil:
		return 0, err
	}
	if s.tcp != nil {
		s.tcp.program = s.program
	}
	theCalm.prepare()
	setTimeSlices(timeSlice)
	signals.forward(s.program)
	if s.checked != nil {
		defer s.lookAround()()
	}
	served := make(chan error, 1)
	go func() {
		err := s.serve()
		if err != io.EOF { // each further call would wait for ever
			s.log.Error("the program ends: its system calls cannot be answered any more", "err", err)
			s.program.Kill()
		}
		served <- err
	}()
	return s.ends(s.wait(served), c.CheckStatus), nil
}

// calls returns the calls that must be intercepted besides those about the device.
func (s *supervisor) calls() seccomp.Calls {
	of := s.tcp.calls()
	if s.checked != nil {
		of |= seccomp.Checked
	}
	return of
}

func newSupervisor(c Config) (*supervisor, error) {
	tracer, err := beginTrace(&c)
	if err != nil {
		return nil, err
	}
	captured, err := beginCapture(&c)
	if err != nil {
		return nil, err
	}
	var checked *check.Reporter
	if c.Check {
		checked = check.NewReporter(c.Log, c.Suppress)
	}
	faults := fault.New(c.Faults, c.Log)
	d, err := softrnic.New(softrnic.Config{Addresses: c.Addresses, Log: c.Log, Faults: faults, RNIC: c.IWARP, Check: checked, Trace: tracer, Capture: captured.writer()})
	if err != nil {
		return nil, err
	}
	nodeType := "1: CA"
	if c.IWARP {
		nodeType = "4: RNIC"
	}
	t, err := newTree(d, c.Addresses, nodeType)
	if err != nil {
		return nil, err
	}
	s := &supervisor{
		log: c.Log, checked: checked, faults: faults, trace: tracer, capture: captured, device: d, tree: t, files: make(map[*openFile]struct{}),
		cm: cm.New(cm.Config{Device: d, IWARP: c.IWARP, Log: c.Log, Check: checked}), netlink: newNetlink(d, c.IWARP),
	}
	if checked != nil {
		s.where = where.New()
	}
	if err = s.channels.init(s.log); err == nil {
		s.doorbell, err = newDoorbell()
	}
	if err != nil {
		s.channels.close()
		t.remove()
		return nil, err
	}
	return s, nil
}

// close closes all that the supervisor has opened. It may be called more than once.
func (s *supervisor) close() { s.closeOnce.Do(s.closeAll) }

func (s *supervisor) closeAll() {
	s.cm.Close()
	s.device.Close()
	s.endTrace()
	s.capture.end(s.log)
	s.doorbell.close()
	s.channels.close()
	s.tree.remove()
	if s.program != nil {
		_ = s.program.Close()
	}
}

// serve answers calls until the last process under supervision has ended.
func (s *supervisor) serve() error {
	t := turns[*seccomp.Call]{next: s.program.Next, answer: func(c *seccomp.Call) {
		defer recovers(s.log, s.program, c)
		s.numbers.note(c)
		if s.tcp == nil || !s.tcp.answer(c) {
			s.answer(c)
		}
	}}
	return t.run()
}

// pathLimit is PATH_MAX.
const pathLimit = 4096

// answer answers one call. Calls that do not concern the device continue unchanged.
func (s *supervisor) answer(c *seccomp.Call) {
	t := threadMemoryOf(s.program, c)
	switch c.Kind {
	case seccomp.Ioctl:
		s.ioctl(c)
		return
	case seccomp.Exec:
		s.leave(c.Thread)
		if s.where != nil {
			s.where.Executes()
		}
	case seccomp.Write:
		s.write(c)
		return
	case seccomp.Socket:
		s.openSocket(c)
		return
	case seccomp.Bind, seccomp.SetOption, seccomp.SendTo, seccomp.SendMsg, seccomp.SendMMsg, seccomp.RecvFrom:
		if s.answerNetlink(t, c) {
			return
		}
	case seccomp.Open:
		if s.open(c, none, 0, int(c.Args[1])) {
			return
		}
	case seccomp.OpenAt:
		if s.open(c, 0, 1, int(c.Args[2])) {
			return
		}
	case seccomp.OpenAt2:
		if flags, ok := openHow(t, c.Args[2], c.Args[3]); ok && s.open(c, 0, 1, flags) {
			return
		}
	case seccomp.DupOf, seccomp.DupFD:
		if s.duplicate(c) {
			return
		}
	case seccomp.List:
		if s.list(t, c) {
			return
		}
	case seccomp.Unmap, seccomp.Map, seccomp.Remap, seccomp.Advise, seccomp.Exit:
		s.noteCall(c)
	case seccomp.Chdir:
		if s.chdir(c) {
			return
		}
	case seccomp.FChdir:
		s.noteFolder(c)
	case seccomp.GetCwd:
		if s.getcwd(t, c) {
			return
		}
	case seccomp.ReadLink:
		if s.answerLink(t, c, none, 0) {
			return
		}
	case seccomp.ReadLinkAt:
		if s.answerLink(t, c, 0, 1) {
			return
		}
	default:
		if e, ok := s.describe(t, c); ok {
			s.program.Answer(c, 0, e)
			return
		}
	}
	s.program.Continue(c)
}

// describe carries out a call that returns no value but an error, and asks about a file. It returns
// false if the file is not in the tree.
func (s *supervisor) describe(t threadMemory, c *seccomp.Call) (e syscall.Errno, ok bool) {
	p := ""
	switch c.Kind {
	case seccomp.Access:
		if p, ok = s.served(c, none, 0, true); ok {
			e = s.access(p, uint32(c.Args[1]))
		}
	case seccomp.AccessAt:
		if p, ok = s.served(c, 0, 1, true); ok {
			e = s.access(p, uint32(c.Args[2]))
		}
	case seccomp.Stat, seccomp.LStat:
		if p, ok = s.served(c, none, 0, c.Kind == seccomp.Stat); ok {
			e = s.stat(t, p, c.Args[1])
		}
	case seccomp.FStat:
		if p, ok = s.deviceOf(c); ok {
			e = s.stat(t, p, c.Args[1])
		}
	case seccomp.StatAt:
		if p, ok = s.servedOrDevice(c, c.Args[3]); ok {
			e = s.stat(t, p, c.Args[2])
		}
	case seccomp.StatX:
		if p, ok = s.servedOrDevice(c, c.Args[2]); ok {
			e = s.statx(t, p, c)
		}
	case seccomp.StatFS:
		if p, ok = s.served(c, none, 0, true); ok {
			e = s.statFS(t, p, c.Args[1])
		}
	case seccomp.FStatFS:
		if p, ok = s.folder(c, 0); ok && isServed(p) {
			return s.statFS(t, s.tree.root+p, c.Args[1]), true
		}
		ok = false
	case seccomp.GetXAttr, seccomp.LGetXAttr:
		if p, ok = s.served(c, none, 0, c.Kind == seccomp.GetXAttr); ok {
			e = attribute(p, syscall.ENODATA)
		}
	case seccomp.ListXAttr, seccomp.LListXAttr:
		if p, ok = s.served(c, none, 0, c.Kind == seccomp.ListXAttr); ok {
			e = attribute(p, 0)
		}
	}
	return e, ok
}

// leave prepares for the execve of a thread: until the device notices that the process runs another
// program, peers could write to its memory.
func (s *supervisor) leave(tid int) {
	s.mu.Lock()
	none := len(s.files) == 0
	s.mu.Unlock()
	if none {
		return
	}
	pid, err := process.Leader(tid)
	if err != nil {
		return // the thread has ended
	}
	var all []*process.Process
	s.mu.Lock()
	for f := range s.files {
		if p := f.known(pid); p != nil {
			all = append(all, p)
		}
	}
	s.mu.Unlock()
	for _, p := range all {
		p.Leave() // it may wait for an access whose page never arrives
	}
}

// servedOrDevice returns the path in the tree for a call with a descriptor, a path and flags.
func (s *supervisor) servedOrDevice(c *seccomp.Call, flags uint64) (string, bool) {
	if flags&unix.AT_EMPTY_PATH == 0 {
		return s.served(c, 0, 1, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	}
	return s.deviceOf(c)
}

// deviceOf returns the path in the tree of the device whose descriptor is the first argument of a
// call.
func (s *supervisor) deviceOf(c *seccomp.Call) (string, bool) {
	fd := int(int32(c.Args[0]))
	if s.channels.find(c.Thread, fd) != nil {
		return s.tree.root + cmPath, true
	}
	return s.tree.root + devPath, s.file(c.Thread, fd) != nil
}

// number returns the device number of a path in the tree. ok is false for files that are not
// devices.
func (s *supervisor) number(path string) (major, minor uint32, ok bool) {
	switch path {
	case s.tree.root + devPath:
		return devMajor, devMinor, true
	case s.tree.root + cmPath:
		return cmMajor, cmMinor, true
	}
	return 0, 0, false
}

// access answers access: devices may be read and written, everything else only read.
func (s *supervisor) access(path string, mode uint32) syscall.Errno {
	if _, _, ok := s.number(path); !ok && mode&unix.W_OK != 0 {
		return syscall.EROFS
	}
	if err := unix.Access(path, mode&^unix.W_OK); err != nil {
		return errnoOf(err)
	}
	return 0
}

// stat answers stat and similar calls for a path in the tree.
func (s *supervisor) stat(t threadMemory, path string, buffer uint64) syscall.Errno {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil { // lookup has followed the links
		return errnoOf(err)
	}
	if major, minor, ok := s.number(path); ok {
		st.Mode, st.Rdev, st.Size = unix.S_IFCHR|0o666, unix.Mkdev(major, minor), 0
	}
	return errnoOf(t.Write(bytesOf(&st), buffer))
}

func (s *supervisor) statx(t threadMemory, path string, c *seccomp.Call) syscall.Errno {
	var st unix.Statx_t
	flags := int(c.Args[2])&^unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW // as above
	if err := unix.Statx(unix.AT_FDCWD, path, flags, int(c.Args[3]), &st); err != nil {
		return errnoOf(err)
	}
	if major, minor, ok := s.number(path); ok {
		st.Mode, st.Rdev_major, st.Rdev_minor, st.Size = unix.S_IFCHR|0o666, major, minor, 0
	}
	return errnoOf(t.Write(bytesOf(&st), c.Args[4]))
}

// bytesOf returns the bytes of a struct of the kernel's interface.
func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// errnoOf returns the error number in err, or EIO if it has none.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return syscall.EIO
}

// wait waits until the program and all processes that it has started have ended. It returns the
// status of the program.
func (s *supervisor) wait(served <-chan error) unix.WaitStatus {
	status := s.program.Wait()
	<-served
	if s.tcp != nil {
		s.tcp.drain()
	}
	return status
}

// ends logs what was found, once the program has ended with a status, and returns the exit status:
// found, if there are findings and the program had 0. If a signal has ended the program, ends ends
// this process by it, and returns only if the signal is ignored.
func (s *supervisor) ends(status unix.WaitStatus, found int) (exit int) {
	s.close() // what is left is known then
	exit = status.ExitStatus()
	if status.Signaled() {
		exit = 128 + int(status.Signal())
	}
	if s.checked != nil {
		if s.checked.Summarize().Findings > 0 && exit == 0 {
			exit = found
		}
		s.where.Close()
	}
	s.faults.Report()
	if status.Signaled() {
		endBy(status.Signal())
	}
	return exit
}

var errNoRoom = fmt.Errorf("no free descriptor: %w", syscall.EMFILE)
