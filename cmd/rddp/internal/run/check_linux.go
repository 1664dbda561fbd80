//go:build amd64 || arm64

package run

import (
	"os"
	"strconv"
	"strings"
	"time"

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

// processName returns the name of a process, or an empty string if it has none any more.
func processName(pid int) string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// checkedName returns what findings have as a process: its name and its number, or an empty string
// for the program itself.
func (s *supervisor) checkedName(pid int) string {
	if s.checked == nil || pid == s.program.PID {
		return ""
	}
	return processName(pid) + "[" + strconv.Itoa(pid) + "]"
}

// noteCall tells the devices of a process that it gives up memory, or that it is about to end.
func (s *supervisor) noteCall(c *seccomp.Call) {
	pid, err := process.Leader(c.Thread)
	if err != nil {
		return
	}
	if c.Kind == seccomp.Exit {
		s.noteExit(pid)
		return
	}
	isOf := func(p softrnic.Process) bool { r, ok := p.(*registrant); return ok && r.PID == pid }
	grows := func(addr, n uint64) bool { return s.growsInPlace(pid, addr, n) }
	for _, x := range givenUp(c, grows) {
		if s.where != nil {
			s.where.Gives(pid, x.Addr, x.Len)
		}
		for _, f := range s.openFiles() {
			parts := []check.Span{x}
			if c.Kind == seccomp.Advise && c.Args[2] == unix.MADV_DONTNEED {
				parts = privateParts(f.known(pid), x)
			}
			for _, p := range parts {
				f.ctx.Unmaps(isOf, p.Addr, p.Len, func() check.Site { return s.site(c) })
			}
		}
	}
}

// exitPatience is how long the end of a process waits for the device to look at what it leaves.
const exitPatience = 2 * time.Second

// noteExit tells the devices of a process that it is about to end. A program that withholds memory
// delays that, but does not prevent it.
func (s *supervisor) noteExit(pid int) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.channels.exits(pid)
		for _, f := range s.openFiles() {
			if f.opener.PID == pid {
				f.ctx.Exits(over)
			}
		}
	}()
	t := time.NewTimer(exitPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	close(over)
}

// growsInPlace reports whether the kernel leaves memory of a process where it is if n bytes are
// added to it at addr, its end. If nobody knows, nothing is given up.
func (s *supervisor) growsInPlace(pid int, addr, n uint64) bool {
	for _, f := range s.openFiles() {
		if p := f.known(pid); p != nil {
			room, err := p.HasRoom(addr, n)
			return room || err != nil
		}
	}
	return true // it has registered nothing
}

// givenUp returns the memory that a call gives up. grows reports whether n bytes can be added to
// memory at addr, its end: if not, the kernel moves what grows.
func givenUp(c *seccomp.Call, grows func(addr, n uint64) bool) (all []check.Span) {
	x := check.Span{Addr: c.Args[0], Len: c.Args[1]}
	if c.Kind == seccomp.Remap {
		x.Len = wholePages(x.Len)
		now, flags := wholePages(c.Args[2]), c.Args[3]
		switch moves := flags&unix.MREMAP_MAYMOVE != 0; {
		case flags&unix.MREMAP_FIXED != 0: // what was at the new place is gone, too
			all = append(all, check.Span{Addr: c.Args[4], Len: now})
		case now < x.Len:
			x = check.Span{Addr: x.Addr + now, Len: x.Len - now}
		case moves && flags&unix.MREMAP_DONTUNMAP != 0: // the pages go, whatever stays there
		case !moves || now == x.Len || grows(x.Addr+x.Len, now-x.Len):
			return nil
		}
	}
	if x.Len > 0 {
		all = append(all, x)
	}
	return all
}

// wholePages returns the bytes of the pages that n bytes need.
func wholePages(n uint64) uint64 {
	page := uint64(os.Getpagesize())
	return (n + page - 1) / page * page
}

// privateParts returns the parts of x that a process has not mapped shared: the others keep their
// pages when it drops them. p is nil if the process has registered nothing.
func privateParts(p *process.Process, x check.Span) (all []check.Span) {
	if p == nil {
		return nil
	}
	_ = p.Private(x.Addr, x.Len, func(addr, n uint64) { all = append(all, check.Span{Addr: addr, Len: n}) }) // the rest is not mapped
	return all
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
	answer := s.program.Answer
	if f.ctx.DoorbellNow(command, c.Thread, s.site(c)) { // the program probably waits for this work request
		answer = s.program.AnswerApart
	}
	answer(c, int64(c.Args[2]), 0)
	return true
}

// lookEvery is how often the device of a program that is checked looks at what is posted. A signal
// may interrupt the write of a doorbell before this process has taken the call, and the kernel does
// not tell of that.
const lookEvery = 20 * time.Millisecond

// lookAround looks at the send queues, and at what the program waits for, every now and then, until
// stop is called.
func (s *supervisor) lookAround() (stop func()) {
	t, done := time.NewTicker(lookEvery), make(chan struct{})
	go func() {
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-done:
				return
			}
			for _, f := range s.openFiles() {
				if f.ctx.HasPosted() {
					go f.ring() // it may wait for memory that the program withholds
				}
				go f.lookAtWaits() // so may this
			}
		}
	}()
	return func() { close(done) }
}

// lookAtWaits looks at what the program waits for, unless that is under way.
func (f *openFile) lookAtWaits() {
	if f.looks.CompareAndSwap(false, true) {
		defer f.looks.Store(false)
		f.ctx.LookAtWaits()
	}
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
