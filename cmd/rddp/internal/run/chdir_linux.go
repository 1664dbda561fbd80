//go:build amd64 || arm64

package run

import (
	"fmt"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// chdir answers chdir if it leads into the tree or out of it. It returns false if the kernel comes
// to the right folder itself.
//
// The program gets a real working directory, in the tree: children inherit it, and the kernel
// resolves relative paths in calls that the supervisor does not know.
func (s *supervisor) chdir(c *seccomp.Call) bool {
	p, err := process.ReadString(process.Thread(c.Thread), c.Args[0], pathLimit)
	if err != nil || p == "" {
		return false
	}
	leaves := false
	if path.IsAbs(p) {
		if !mayName(p) {
			return false
		}
	} else {
		from, ok := s.start(c, none, p)
		if !ok {
			return false
		}
		p, leaves = from+"/"+p, isServed(from)
	}
	at, _ := s.tree.resolve(p, true)
	if at == "" || !isServed(at) && !leaves {
		return false
	}
	to, err := unix.Open(s.tree.host(at), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.program.Answer(c, 0, errnoOf(err))
		return true
	}
	if isServed(at) {
		s.entered.Store(true)
	}
	s.later(c, func() { s.move(c, to) }) // the program makes calls meanwhile, which need an answer
	return true
}

// noteFolder notes that a process is about to enter the tree by fchdir.
func (s *supervisor) noteFolder(c *seccomp.Call) {
	if p, ok := s.folder(c, 0); ok && isServed(p) {
		s.entered.Store(true)
	}
}

// getcwd answers getcwd for a process in the tree. It returns false for others.
func (s *supervisor) getcwd(t threadMemory, c *seccomp.Call) bool {
	if !s.entered.Load() {
		return false
	}
	p, ok := s.linked(fmt.Sprintf("/proc/%d/cwd", c.Thread))
	if !ok || !isServed(p) {
		return false
	}
	b := append([]byte(p), 0)
	if uint64(len(b)) > c.Args[1] {
		s.program.Answer(c, 0, syscall.ERANGE)
		return true
	}
	s.program.Answer(c, int64(len(b)), errnoOf(t.Write(b, c.Args[0])))
	return true
}

// move answers chdir: it changes the working directory of the calling process to an open folder,
// and closes that. If it cannot, the program's chdir finds no such folder.
func (s *supervisor) move(c *seccomp.Call, folder int) {
	if !s.callFrom(c, folder, func(n int) threadCall { return threadCall{unix.SYS_FCHDIR, [3]uint64{uint64(n)}} }) {
		s.program.Continue(c)
	}
}
