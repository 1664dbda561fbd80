//go:build amd64 || arm64

package run

import (
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
)

// openAbove opens a folder of the host above the served paths, such as /sys/class. The program gets
// the folder itself, at a number that the filter knows: then listings of it, and paths relative to
// it, come to the supervisor. openAbove returns false if the kernel should open the folder.
func (s *supervisor) openAbove(c *seccomp.Call, dir string, flags int) bool {
	if flags&(unix.O_ACCMODE|unix.O_CREAT) != unix.O_RDONLY {
		return false
	}
	flags &^= unix.O_PATH // as for the device's folders
	// The program may have another root folder.
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/root%s", c.Thread, dir), flags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	const everyone = unix.S_IROTH | unix.S_IXOTH
	if unix.Fstat(fd, &st) != nil || st.Mode&everyone != everyone {
		return false // the kernel decides whether the program may open the folder
	}
	s.giveFolder(c, fd, flags&unix.O_CLOEXEC != 0)
	return true
}

// giveFolder answers a call with a copy of the descriptor of a folder. If there is no number for
// it, paths relative to the descriptor are the kernel's alone.
func (s *supervisor) giveFolder(c *seccomp.Call, fd int, closeOnExec bool) {
	if s.giveNumber(c, fd, closeOnExec) {
		return
	}
	if err := s.program.AnswerFD(c, fd, closeOnExec); err != nil {
		s.program.Answer(c, 0, errnoOf(err))
	}
}

// giveNumber is giveFolder at a number that the filter knows. It returns false if there is none.
func (s *supervisor) giveNumber(c *seccomp.Call, fd int, closeOnExec bool) bool {
	return s.giveNumberOf(c, seccomp.Folders, fd, closeOnExec)
}

// giveNumberOf answers a call with a copy of a descriptor, at a number of a class.
func (s *supervisor) giveNumberOf(c *seccomp.Call, class seccomp.Class, fd int, closeOnExec bool) bool {
	pid, err := process.Leader(c.Thread)
	if err != nil {
		return false
	}
	n, err := s.numbers.add(s.program.Listener, c, pid, class, fd, closeOnExec)
	if err != nil {
		return false
	}
	s.listings.forget(descriptor{pid, n})
	s.program.Answer(c, int64(n), 0)
	return true
}

// duplicate answers dup and fcntl for a descriptor that has a number of a class, so that the
// duplicate has one, too: fts(3) lists a duplicate. duplicate returns false for other descriptors,
// and if the program wants a high number.
func (s *supervisor) duplicate(c *seccomp.Call) bool {
	class, ok := s.classOf(c)
	if !ok || c.Kind == seccomp.DupFD && c.Args[2] >= uint64(seccomp.LeastNumber) {
		return false
	}
	var fd int
	var err error
	if class == seccomp.Sockets {
		var k netlinkSocket
		if k, ok = s.netlinkSocket(c); !ok {
			return false
		}
		fd = k.fd
	} else if fd, err = borrow(c); err != nil && class == seccomp.Folders { // a profile forbids pidfd_getfd: then the duplicate has an offset of its own
		fd, err = unix.Open(fmt.Sprintf("/proc/%d/fd/%d", c.Thread, int32(c.Args[0])), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return s.giveNumberOf(c, class, fd, c.Kind == seccomp.DupFD && c.Args[1] == unix.F_DUPFD_CLOEXEC)
}

// classOf returns the class of the descriptor that is the first argument of a call. ok is false if
// the supervisor has not made that descriptor.
func (s *supervisor) classOf(c *seccomp.Call) (class seccomp.Class, ok bool) {
	number := int(int32(c.Args[0]))
	switch {
	case seccomp.Folders.Has(number):
		p, is := s.folder(c, 0)
		_, isAbove := above[p]
		return seccomp.Folders, is && (isAbove || isServed(p))
	case seccomp.Devices.Has(number):
		return seccomp.Devices, s.file(c.Thread, number) != nil
	case seccomp.Channels.Has(number):
		return seccomp.Channels, s.channels.find(c.Thread, number) != nil
	case seccomp.Sockets.Has(number):
		k, ok := s.netlinkSocket(c)
		if ok {
			unix.Close(k.fd)
		}
		return seccomp.Sockets, ok
	}
	return 0, false
}

// A descriptor is one of the program's.
type descriptor struct{ pid, number int }

// listings has the descriptors of folders of which the program has got the names that the tree
// adds, and nothing else yet.
type listings struct {
	mu locks.Mutex[locks.Leaf]
	// begun has these descriptors
	begun map[descriptor]struct{} // +checklocks:mu
}

// listingsMost is the number of listings above which the oldest ones are forgotten: most of them
// are of processes that have ended.
const listingsMost = 1024

// begin reports whether a listing that stands at the beginning of its folder begins. If it does
// not, the names that the tree adds have just been listed.
func (l *listings) begin(d descriptor) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.begun[d]; ok {
		delete(l.begun, d)
		return false
	}
	if l.begun == nil || len(l.begun) == listingsMost {
		l.begun = make(map[descriptor]struct{})
	}
	l.begun[d] = struct{}{}
	return true
}

// forget must be called when the program gets a new descriptor.
func (l *listings) forget(d descriptor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.begun, d)
}

// list answers getdents64 for a folder above the served paths: the program gets the names that the
// tree adds, and from its next call on those that the kernel lists. The folder of the device files
// has nothing else; there the tree's files have another type. list returns false if the kernel
// should answer.
func (s *supervisor) list(t threadMemory, c *seccomp.Call) bool {
	dir, ok := s.folder(c, 0)
	if !ok || dir != devDir && len(above[dir]) == 0 {
		return false
	}
	d := descriptor{number: int(int32(c.Args[0]))}
	var err error
	if d.pid, err = process.Leader(c.Thread); err != nil || !atBeginning(c.Thread, d.number) {
		return false
	}
	b := s.tree.entries(dir)
	if len(b) == 0 || uint64(len(b)) > c.Args[2] {
		return false
	}
	if !s.listings.begin(d) {
		if dir == devDir {
			s.program.Answer(c, 0, 0)
		}
		return dir == devDir
	}
	if err = t.Write(b, c.Args[1]); err != nil {
		s.listings.forget(d)
	}
	s.program.Answer(c, int64(len(b)), errnoOf(err))
	return true
}

// atBeginning reports whether the offset of a descriptor is 0.
func atBeginning(thread, number int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", thread, number))
	return err == nil && strings.HasPrefix(string(b), "pos:\t0\n")
}

// Offsets in struct linux_dirent64. The offset of the next entry stays 0: there the kernel's
// listing begins.
const (
	entryLen  = 16
	entryType = 18
	entryName = 19
)

// entries returns struct linux_dirent64 for the names that the tree adds to a folder of the host,
// or for all of the device files.
func (t *tree) entries(dir string) (all []byte) {
	names := above[dir]
	if dir == devDir {
		names = []string{".", "..", path.Base(devPath), path.Base(cmPath)}
	}
	for _, name := range names {
		p := path.Join(dir, name)
		var st unix.Stat_t
		if _, err := os.Lstat(p); err == nil && dir != devDir || unix.Lstat(t.host(p), &st) != nil {
			continue // the host has that name itself
		}
		if p == devPath || p == cmPath {
			st.Mode = unix.S_IFCHR
		}
		b := make([]byte, (entryName+len(name)+1+7)&^7)
		binary.NativeEndian.PutUint64(b, st.Ino)
		binary.NativeEndian.PutUint16(b[entryLen:], uint16(len(b)))
		b[entryType] = byte(st.Mode & unix.S_IFMT >> 12)
		copy(b[entryName:], name)
		all = append(all, b...)
	}
	return all
}

// statFS answers statfs for a path in the tree as for the file system that it stands for.
func (s *supervisor) statFS(t threadMemory, name string, buffer uint64) syscall.Errno {
	if err := unix.Access(name, unix.F_OK); err != nil {
		return errnoOf(err)
	}
	of := "/sys"
	if p, _ := s.tree.program(name); path.Dir(p) == devDir || p == devDir {
		of = "/dev"
	}
	var st unix.Statfs_t
	if err := unix.Statfs(of, &st); err != nil {
		return errnoOf(err)
	}
	return errnoOf(t.Write(bytesOf(&st), buffer))
}

// attribute answers for the extended attributes of a path in the tree: there are none.
func attribute(name string, e syscall.Errno) syscall.Errno {
	if _, err := os.Lstat(name); err != nil {
		return errnoOf(err)
	}
	return e
}
