//go:build amd64 || arm64

package run

import (
	"syscall"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// inputLimit is the maximum length in bytes of the input of a command.
const inputLimit = 1024

// ioctl answers the ioctl of the verbs.
func (s *supervisor) ioctl(c *seccomp.Call) {
	f := s.file(c.Thread, int(int32(c.Args[0])))
	if f == nil {
		s.program.Continue(c) // a file of something else
		return
	}
	s.program.Answer(c, 0, s.invoke(c, f))
}

// invoke executes the command of an ioctl.
func (s *supervisor) invoke(c *seccomp.Call, f *openFile) syscall.Errno {
	thread := &memory{threadMemoryOf(s.program, c), f.opener}
	var b [uverbs.HeaderLen + uverbs.MaxAttrs*uverbs.AttrLen]byte
	// One read is enough for nearly every command, unless the mapped memory ends soon after the
	// header.
	n := uverbs.HeaderLen + 5*uverbs.AttrLen
	if thread.Read(b[:n], c.Args[2]) != nil {
		if n = uverbs.HeaderLen; thread.Read(b[:n], c.Args[2]) != nil {
			return syscall.EFAULT
		}
	}
	h, _, err := uverbs.ParseHeader(b[:n])
	if err != nil {
		return syscall.EINVAL
	}
	if h.Method != uverbs.InvokeWrite {
		// libibverbs then uses INVOKE_WRITE for this command and all that follow.
		return syscall.EPROTONOSUPPORT
	}
	if h.Len > n && thread.Read(b[n:h.Len], c.Args[2]+uint64(n)) != nil {
		return syscall.EFAULT
	}
	v, err := uverbs.ParseInvocation(b[uverbs.HeaderLen:h.Len], h.NumAttrs)
	if err != nil {
		return syscall.EINVAL
	}
	if v.IsProbe() {
		return syscall.ENOSPC // "yes": see uverbs.Invocation
	}
	in, e := input(thread, v.In)
	if e != 0 {
		return e
	}
	driverIn, e := input(thread, v.DriverIn)
	if e != 0 {
		return e
	}
	out, driverOut, err := s.do(c, f, &v, in, driverIn)
	if err != nil {
		s.log.Info("command refused", "pid", f.opener.PID, "command", v.Command.String(), "why", err)
		return uverbs.ErrnoOf(err)
	}
	s.log.Debug("command", "pid", f.opener.PID, "command", v.Command.String())
	return max(output(thread, v.Out, out), output(thread, v.DriverOut, driverOut))
}

func input(t *memory, s uverbs.Span) ([]byte, syscall.Errno) {
	if b, ok := s.Inline(); ok {
		return b, 0
	}
	if s.Len > inputLimit {
		return nil, syscall.EINVAL
	}
	b := make([]byte, s.Len)
	return b, errnoOf(t.Read(b, s.Addr))
}

// output writes an answer to the program's buffer: it cuts a longer answer and fills the rest with
// zeros.
func output(t *memory, s uverbs.Span, b []byte) syscall.Errno {
	if s.Len == 0 {
		return 0
	}
	if s.Len > inputLimit {
		return syscall.EINVAL
	}
	all := make([]byte, s.Len)
	copy(all, b)
	return errnoOf(t.Write(all, s.Addr))
}

// A caller is the program that sent a command.
type caller struct {
	s       *supervisor
	call    *seccomp.Call
	file    *openFile
	command uverbs.Command
}

// Process returns the process whose memory a command names. It is the process of the calling
// thread, which may be a child of the process that opened the device.
func (c *caller) Process() (softrnic.Process, error) {
	p, err := c.file.process(c.call.Thread)
	if err == nil && !c.s.program.Waits(c.call) { // the thread may have been killed and another process may have its number
		return nil, syscall.ESRCH
	}
	return &registrant{Process: p, file: c.file}, err
}

// NewChannel makes a channel.
func (c *caller) NewChannel() (uint32, softrnic.Channel, error) {
	ch, fd, err := c.s.events.add(c.s.program.Listener, c.call)
	if err != nil {
		return 0, nil, err
	}
	if c.command == uverbs.GetContext {
		near, err := ch.copyNear()
		if err != nil {
			ch.Close()
			return 0, nil, err
		}
		c.file.connected.Store(true)
		go c.s.watch(c.file, near)
	}
	return uint32(fd), ch, nil
}

// FindChannel returns the channel behind a descriptor of the thread's process, or nil.
func (c *caller) FindChannel(fd int32) softrnic.Channel {
	if ch := c.s.events.find(c.call.Thread, int(fd)); ch != nil {
		return ch
	}
	return nil
}

// PID returns the process that has sent the command, or 0 if it has ended.
func (c *caller) PID() int {
	pid, err := process.Leader(c.call.Thread)
	if err != nil {
		return 0
	}
	return pid
}

// Lives reports whether a process that has sent a command has not ended.
func (c *caller) Lives(pid int) bool {
	p := c.file.known(pid)
	return p != nil && !p.HasEnded()
}

// Site returns where the program has sent the command.
func (c *caller) Site() check.Site { return c.s.site(c.call) }

// Thread returns the number of the thread that has sent the command.
func (c *caller) Thread() int { return c.call.Thread }

// A memory is the memory of a thread that waits for an answer. If the process no longer allows
// access, opener still does: it was opened earlier.
type memory struct {
	thread threadMemory
	opener *process.Process
}

func (m *memory) Read(b []byte, addr uint64) error {
	err := m.thread.Read(b, addr)
	if err == syscall.EPERM {
		return m.opener.Read(b, addr)
	}
	return err
}

func (m *memory) Write(b []byte, addr uint64) error {
	err := m.thread.Write(b, addr)
	if err == syscall.EPERM {
		return m.opener.Write(b, addr)
	}
	return err
}
