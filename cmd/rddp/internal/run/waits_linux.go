//go:build amd64 || arm64

package run

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// How threads wait for events, as /proc shows it.

// Bounds of a look at a process.
const (
	maxWaiting = 64   // threads
	maxSet     = 1024 // descriptors that a thread waits for
	maxNested  = 2    // epolls in epolls
)

// Waits is a method of softrnic.Channel.
func (c *channel) Waits() (w check.Waiting) {
	if c.hasUnread() {
		return check.Waiting{}
	}
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.maker))
	if err != nil || len(all) > maxWaiting {
		return check.Waiting{}
	}
	for _, x := range all {
		tid, err := strconv.Atoi(x.Name())
		if err != nil {
			continue
		}
		set := waitOf(c.maker, tid)
		if set.has(c) && (w.Thread == 0 || len(set.fds) == 1) {
			w.Thread, w.Alone = tid, len(set.fds) == 1
		} else if !sleeps(c.maker, tid) {
			w.Busy = true
		}
	}
	w.Others = len(all) > 1
	return w
}

// hasUnread reports whether an event is there that the program has not read.
func (c *channel) hasUnread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near < 0 {
		return false
	}
	n, err := unix.IoctlGetInt(c.near, unix.TIOCINQ)
	return err != nil || n > 0
}

// sleeps reports whether a thread sleeps until something happens. A thread that waits for a disk,
// or for a processor, does not.
func sleeps(pid, tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	at := strings.LastIndexByte(string(b), ')') // the name before may have anything
	return err == nil && at >= 0 && strings.HasPrefix(string(b[at:]), ") S")
}

// A waitSet is what a thread waits for: that one of some descriptors becomes readable, and maybe
// other things.
type waitSet struct {
	pid int
	fds []int
}

// has reports whether one of the descriptors is that of c.
func (s waitSet) has(c *channel) bool {
	for _, fd := range s.fds {
		if inode, ok := pipeOf(s.pid, fd); ok && inode == c.inode {
			return true
		}
	}
	return false
}

// add adds a descriptor, or those of an epoll. Each of them is there, because descriptors that are
// not those of channels count, too.
func (s *waitSet) add(fd, nested int) {
	if len(s.fds) == maxSet {
		return
	}
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.pid, fd))
	if err != nil || link != "anon_inode:[eventpoll]" || nested == maxNested {
		s.fds = append(s.fds, fd)
		return
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.pid), "fdinfo", strconv.Itoa(fd)))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != "tfd:" || f[2] != "events:" {
			continue
		}
		in, err := strconv.Atoi(f[1])
		events, err2 := strconv.ParseUint(f[3], 16, 32)
		if err == nil && err2 == nil && events&unix.EPOLLIN != 0 {
			s.add(in, nested+1)
		}
	}
}

// waitOf returns what a thread of a process waits for in a system call. It is empty if the thread
// is in no such call.
func waitOf(pid, tid int) waitSet {
	s := waitSet{pid: pid}
	number, args, ok := callOf(pid, tid)
	if !ok {
		return s
	}
	switch fd := int(int32(args[0])); waitCalls[number] {
	case waitRead, waitEpoll:
		s.add(fd, 0)
	case waitPoll:
		s.addPolled(process.Thread(tid), args[0], args[1])
	case waitSelect:
		s.addSelected(process.Thread(tid), args[1], args[0])
	}
	return s
}

// callOf returns the system call in which a thread of a process sleeps, and its first arguments. ok
// is false if it runs, or is in none.
func callOf(pid, tid int) (number uint64, args [4]uint64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	f := strings.Fields(string(b))
	if err != nil || len(f) < 1+len(args) {
		return 0, args, false
	}
	number, err = strconv.ParseUint(f[0], 10, 64)
	for i := range args {
		if err == nil {
			args[i], err = strconv.ParseUint(f[1+i], 0, 64)
		}
	}
	return number, args, err == nil
}

// A waitCall is a kind of system calls that wait for descriptors.
type waitCall uint8

const (
	noWait waitCall = iota
	waitRead
	waitPoll
	waitSelect
	waitEpoll
)

// addPolled adds the descriptors of an array of n struct pollfd at addr.
func (s *waitSet) addPolled(m process.Reader, addr, n uint64) {
	const (
		length         = 8 // int fd; short events, revents
		pollReadNormal = 0x40
	)
	b := make([]byte, length*min(n, maxSet))
	if m.Read(b, addr) != nil {
		return
	}
	for ; len(b) > 0; b = b[length:] {
		fd, events := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint16(b[4:])
		if fd >= 0 && events&(unix.POLLIN|pollReadNormal) != 0 {
			s.add(int(fd), 0)
		}
	}
}

// addSelected adds the first n descriptors, as far as the fd_set at addr has them.
func (s *waitSet) addSelected(m process.Reader, addr, n uint64) {
	const word = 8 // bytes
	b := make([]byte, word*((min(n, maxSet)+8*word-1)/(8*word)))
	if addr == 0 || m.Read(b, addr) != nil {
		return
	}
	for fd := range int(min(n, maxSet)) {
		if binary.NativeEndian.Uint64(b[fd/64*word:])>>(fd%64)&1 != 0 {
			s.add(fd, 0)
		}
	}
}
