//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
)

// numbers gives the program descriptors at numbers that the filter knows. The kernel replaces a
// descriptor that is already at the number, and a thread of the program may create one there after
// this process has looked. Three rules prevent that. First, the kernel assigns the lowest free
// number, so numbers far above it are safe: see seccomp.Pick. Second, calls that choose their own
// number wait while this process looks and acts; those that were continued, and may not be done
// yet, are recorded. Third, a number that the program has chosen once is avoided, because a later
// call would replace the descriptor there.
type numbers struct {
	mu locks.Mutex[locks.Leaf]
	// the numbers that the program has chosen so far
	chosen [seccomp.Preferred]bool // +checklocks:mu
	// by thread: its last call, if it was one that chooses its number
	dups map[int]seccomp.Dup // +checklocks:mu
}

// dupsMost is the number of recorded threads above which note removes those that have ended.
const dupsMost = 256

// note records a thread's call before it continues. The thread's previous call is done.
func (s *numbers) note(c *seccomp.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d seccomp.Dup
	switch c.Kind {
	case seccomp.Dup2:
		d = seccomp.Dup{Number: int(uint32(c.Args[1])), Exact: true}
		if d.Number < len(s.chosen) {
			s.chosen[d.Number] = true
		}
	case seccomp.DupFD:
		d = seccomp.Dup{Number: int(uint32(c.Args[2]))}
	default:
		delete(s.dups, c.Thread)
		return
	}
	if s.dups == nil {
		s.dups = make(map[int]seccomp.Dup)
	}
	if s.dups[c.Thread] = d; len(s.dups) > dupsMost {
		for thread := range s.dups {
			if !isThread(thread, thread) {
				delete(s.dups, thread)
			}
		}
	}
}

// isThread reports whether a process has a thread.
func isThread(pid, thread int) bool {
	_, err := os.Lstat(fmt.Sprintf("/proc/%d/task/%d", pid, thread))
	return err == nil
}

// add gives the process of a call a copy of fd, at a number of the class. It returns the number.
func (s *numbers) add(l *seccomp.Listener, c *seccomp.Call, pid int, class seccomp.Class, fd int, closeOnExec bool) (int, error) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return -1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	open, err := openNumbers(c.Thread)
	if err != nil {
		return -1, err
	}
	for {
		var underWay []seccomp.Dup
		for thread, d := range s.dups {
			if isThread(pid, thread) {
				underWay = append(underWay, d)
			}
		}
		n, ok := s.pickLocked(class, open, int(min(limit.Cur, math.MaxInt32)), underWay)
		if !ok {
			return -1, errNoRoom
		}
		if _, err = l.AddFD(c, fd, n, closeOnExec); !errors.Is(err, syscall.EBUSY) {
			return n, err
		}
		open[n] = true // another thread is creating a descriptor there
	}
}

// pickLocked is seccomp.Pick, but avoids the numbers that the program has chosen, as long as there
// are others.
//
// +checklocks:s.mu
func (s *numbers) pickLocked(class seccomp.Class, open map[int]bool, limit int, underWay []seccomp.Dup) (n int, ok bool) {
	left := slices.Clone(underWay)
	for n, is := range s.chosen {
		if is {
			left = append(left, seccomp.Dup{Number: n, Exact: true})
		}
	}
	if n, ok = seccomp.Pick(class, open, limit, left); ok && n < seccomp.Preferred {
		return n, true
	}
	return seccomp.Pick(class, open, limit, underWay)
}

// openNumbers returns the numbers of the open descriptors of a thread's process.
func openNumbers(thread int) (map[int]bool, error) {
	d, err := os.Open(fmt.Sprintf("/proc/%d/fd", thread))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	open := make(map[int]bool, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			open[n] = true
		}
	}
	return open, nil
}
