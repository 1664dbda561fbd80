//go:build amd64 || arm64

package run

import (
	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// site returns where the program makes a call, or nil if that is not known or the program is not
// checked.
func (s *supervisor) site(c *seccomp.Call) check.Site {
	if s.where == nil {
		return nil
	}
	if x := s.where.Site(c.Thread); x != nil {
		return x
	}
	return nil
}

// noteCall tells the devices of a process that it gives up memory, or that it is about to end.
func (s *supervisor) noteCall(c *seccomp.Call) {
	pid, err := process.Leader(c.Thread)
	if err != nil {
		return
	}
	addr, n := c.Args[0], c.Args[1]
	if c.Kind == seccomp.Remap {
		addr, n = remapped(c)
	}
	if s.where != nil && c.Kind != seccomp.Exit {
		s.where.Gives(pid, addr, n)
	}
	isOf := func(p softrnic.Process) bool { r, ok := p.(*registrant); return ok && r.PID == pid }
	for _, f := range s.openFiles() {
		switch {
		case c.Kind == seccomp.Exit && f.opener.PID == pid:
			f.ctx.Exits()
		case c.Kind != seccomp.Exit && n > 0:
			f.ctx.Unmaps(isOf, addr, n, func() check.Site { return s.site(c) })
		}
	}
}

// remapped returns what a call of mremap gives up for certain. If the kernel moves memory because
// it grows, the device learns of it later.
func remapped(c *seccomp.Call) (addr, n uint64) {
	addr, n = c.Args[0], c.Args[1]
	switch now := c.Args[2]; {
	case c.Args[3]&unix.MREMAP_FIXED != 0:
		return addr, n
	case now < n:
		return addr + now, n - now
	}
	return addr, 0
}

// ringNow looks at the send queues of the device that a thread writes to, while the thread waits.
// It does so only if the program is checked: then the device sees the memory of a work request as
// it is when the program posts it. ringNow answers the call, so that the kernel does not report it
// once more, or returns false if it is not for a device.
func (s *supervisor) ringNow(c *seccomp.Call) bool {
	if s.checked == nil {
		return false
	}
	f := s.file(c.Thread, int(int32(c.Args[0])))
	if f == nil {
		return false
	}
	var b [uverbs.PostSendLen]byte
	command := b[:min(c.Args[2], uint64(len(b)))]
	if threadMemoryOf(s.program, c).Read(command, c.Args[1]) != nil {
		command = nil
	}
	f.ctx.DoorbellNow(command, c.Thread, s.site(c))
	s.program.Answer(c, int64(c.Args[2]), 0)
	return true
}

// openFiles returns the open files of the device.
func (s *supervisor) openFiles() (all []*openFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.files {
		all = append(all, f)
	}
	return all
}
