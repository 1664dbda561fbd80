//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// served are the paths that the tree replaces, with everything below them.
var served = []string{
	"/sys/class/infiniband", "/sys/class/infiniband_verbs", "/sys/class/misc/rdma_cm",
	"/sys/devices/virtual/infiniband", "/sys/devices/virtual/infiniband_verbs", "/sys/devices/virtual/misc/rdma_cm",
	fmt.Sprintf("/sys/dev/char/%d:%d", devMajor, devMinor), fmt.Sprintf("/sys/dev/char/%d:%d", cmMajor, cmMinor),
	devDir,
}

// above has the folders of the host above the served paths, with the names that the tree adds to
// each.
var above = foldersAbove()

func foldersAbove() map[string][]string {
	all := make(map[string][]string)
	for _, s := range served {
		all[path.Dir(s)] = append(all[path.Dir(s)], path.Base(s))
		for dir := path.Dir(path.Dir(s)); ; dir = path.Dir(dir) {
			all[dir] = append(all[dir], []string{}...)
			if dir == "/" {
				break
			}
		}
	}
	return all
}

func isServed(p string) bool {
	return slices.ContainsFunc(served, func(s string) bool {
		return strings.HasPrefix(p, s) && (len(p) == len(s) || p[len(s)] == '/')
	})
}

// mentions reports whether a path has part of a name that only the tree has. Programs call open and
// stat often, so the supervisor looks no further at nearly all other paths.
func mentions(p string) bool {
	return strings.Contains(p, "infiniband") || strings.Contains(p, DeviceName) || strings.Contains(p, "uverbs") ||
		strings.Contains(p, "rdma_cm") || strings.HasPrefix(p, "/sys/dev/char/")
}

// mayName reports whether an absolute path may lead to a served path or to a folder above.
func mayName(p string) bool {
	if mentions(p) {
		return true
	}
	_, ok := above[path.Clean(p)]
	return ok
}

// mayNameBelow is mayName for a path relative to a folder that is not in the tree.
func mayNameBelow(p string) bool {
	last := path.Base(p)
	if last == "." || last == ".." || mentions(p) {
		return true
	}
	for dir := range above {
		if path.Base(dir) == last {
			return true
		}
	}
	return false
}

// maxLinks is the kernel's limit of symbolic links in a path.
const maxLinks = 40

// resolve returns the path to which the kernel would come if the tree were part of the host. It
// follows symbolic links, the last one only if follow is set. A slash stays behind a file that is
// no folder. ok is false if that path is neither served nor above a served one.
func (t *tree) resolve(p string, follow bool) (at string, ok bool) {
	at = "/"
	folder := false // what at names must be a folder
	for links := 0; p != ""; {
		name, rest, more := strings.Cut(p, "/")
		p = rest
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		at, folder = path.Join(at, name), more
		if at == "/proc" {
			return "", false // its links depend on who asks
		}
		if !more && !follow {
			break
		}
		to, err := os.Readlink(t.host(at))
		if err != nil {
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		at = path.Dir(at)
		if path.IsAbs(to) {
			at = "/"
		}
		if p = to; more {
			p += "/" + rest
		}
	}
	_, isAbove := above[at]
	if folder && isServed(at) && !isFolder(t.host(at)) {
		at += "/" // so a call for it fails as the program's would
	}
	return at, isAbove || isServed(at)
}

// isFolder reports whether a path is that of a folder.
func isFolder(p string) bool {
	var st unix.Stat_t
	return unix.Lstat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// host returns the path of the host that has what the program finds at p.
func (t *tree) host(p string) string {
	if isServed(p) {
		return t.root + p
	}
	return p
}

// program returns the path at which the program finds a path of the host.
func (t *tree) program(p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, t.root)
	return rest, ok && isServed(rest)
}

// none is the argument of a call that has no descriptor of a folder.
const none = -1

// lookup returns where the path in an argument of a call leads, if the tree has to do with it. The
// argument dir has the descriptor of the folder from which a relative path starts.
func (s *supervisor) lookup(c *seccomp.Call, dir, arg int, follow bool) (string, bool) {
	p, err := process.ReadString(process.Thread(c.Thread), c.Args[arg], pathLimit)
	if errors.Is(err, syscall.EPERM) {
		s.blindOnce.Do(func() {
			s.log.Warn("the kernel does not show what a process opens, which so has no device: the process is not dumpable, or kernel.yama.ptrace_scope is more than 1", "thread", c.Thread)
		})
	}
	switch {
	case err != nil || p == "":
		return "", false
	case path.IsAbs(p):
		if !mayName(p) {
			return "", false
		}
	default:
		from, ok := s.start(c, dir, p)
		if !ok {
			return "", false
		}
		p = from + "/" + p
	}
	return s.tree.resolve(p, follow)
}

// start returns the folder from which a relative path starts.
func (s *supervisor) start(c *seccomp.Call, dir int, p string) (string, bool) {
	if dir != none && int32(c.Args[dir]) != unix.AT_FDCWD {
		return s.folder(c, dir)
	}
	if !s.entered.Load() && !mayNameBelow(p) {
		return "", false
	}
	return s.linked(fmt.Sprintf("/proc/%d/cwd", c.Thread))
}

// folder returns the path of the descriptor in an argument.
func (s *supervisor) folder(c *seccomp.Call, arg int) (string, bool) {
	return s.linked(fmt.Sprintf("/proc/%d/fd/%d", c.Thread, int32(c.Args[arg])))
}

// linked returns the path to which a link in /proc leads, as the program has it.
func (s *supervisor) linked(link string) (string, bool) {
	to, err := os.Readlink(link)
	if err != nil || !path.IsAbs(to) {
		return "", false
	}
	if p, ok := s.tree.program(to); ok {
		return p, true
	}
	return to, true
}

// served is lookup for calls that concern served paths only. It returns the path of the host.
func (s *supervisor) served(c *seccomp.Call, dir, arg int, follow bool) (string, bool) {
	p, ok := s.lookup(c, dir, arg, follow)
	return s.tree.root + p, ok && isServed(p)
}

// readLink answers readlink for a path in the tree.
func (s *supervisor) readLink(t threadMemory, name string, buffer, n uint64) (int64, syscall.Errno) {
	if int32(n) <= 0 {
		return 0, syscall.EINVAL
	}
	var b [pathLimit]byte
	k, err := unix.Readlink(name, b[:min(n, pathLimit)])
	if err != nil {
		return 0, errnoOf(err)
	}
	return int64(k), errnoOf(t.Write(b[:k], buffer))
}

// readProcLink answers readlink for a link in /proc that leads into the tree, such as
// /proc/self/fd/3: the program sees the path that it has opened. It returns false for others.
func (s *supervisor) readProcLink(t threadMemory, c *seccomp.Call, arg int) bool {
	p, err := process.ReadString(t, c.Args[arg], pathLimit)
	if err != nil {
		return false
	}
	rest, ok := strings.CutPrefix(path.Clean(p), "/proc/")
	who, what, more := strings.Cut(rest, "/")
	if !ok || !more {
		return false
	}
	if who == "self" || who == "thread-self" {
		who = fmt.Sprint(c.Thread)
	}
	to, err := os.Readlink("/proc/" + who + "/" + what)
	if err != nil {
		return false
	}
	if to, ok = s.tree.program(to); !ok {
		return false
	}
	n := c.Args[arg+2]
	if int32(n) <= 0 {
		s.program.Answer(c, 0, syscall.EINVAL)
		return true
	}
	b := []byte(to)[:min(n, uint64(len(to)))]
	s.program.Answer(c, int64(len(b)), errnoOf(t.Write(b, c.Args[arg+1])))
	return true
}

// answerLink answers readlink. It returns false if the kernel's answer is right.
func (s *supervisor) answerLink(t threadMemory, c *seccomp.Call, dir, arg int) bool {
	if p, ok := s.served(c, dir, arg, false); ok {
		n, e := s.readLink(t, p, c.Args[arg+1], c.Args[arg+2])
		s.program.Answer(c, n, e)
		return true
	}
	return s.readProcLink(t, c, arg)
}
