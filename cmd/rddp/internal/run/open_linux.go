//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/softrnic"
)

const (
	// fileLen is the length in bytes of a device's file, which takes memory only where it is used.
	// If a limit on file size applies, the file is shorter, but not below leastFileLen.
	fileLen      = 64 << 30
	leastFileLen = 64 << 20
	// bellAt is the file offset of the first doorbell. A program writes its doorbells at the
	// current offset. They are in the first part of the file, because a limit on file size applies
	// to these writes. The rings come after them: see ringsAt.
	bellAt = 4096
	// bellRange is how far the offset may move before the supervisor resets it.
	bellRange = 64 << 10
	// seekEvery is the maximum number of rings between two looks at the offset.
	seekEvery = 16
)

// An openFile is a device's file, opened by a process.
type openFile struct {
	fd     int // this process's descriptor of the same open file
	id     fileID
	memory []byte
	ctx    *softrnic.Context
	// opener is the process that opened the file, and number its descriptor there.
	opener    *process.Process
	number    int
	connected atomic.Bool // watch will notice when the program closes the file
	// rings counts the rings since the last look at the offset.
	rings atomic.Uint32
	// ringing counts the calls of ring since the one that is at work, and lost says that
	// notifications are lost.
	ringing atomic.Int32
	lost    atomic.Bool
	looks   atomic.Bool // lookAtWaits is at work

	// bell is held while the device looks at the program's send queues.
	bell locks.Mutex[locks.FileBell]
	// heard is the offset up to which doorbells have been handled
	heard int64 // +checklocks:bell
	// removed says that the doorbell does not know the file any more
	removed bool // +checklocks:bell

	mu locks.Mutex[locks.Leaf]
	// children of the opener that have registered memory through it
	children map[int]*process.Process // +checklocks:mu
}

// open answers a call that opens a path. It returns false if the kernel should open that path.
func (s *supervisor) open(c *seccomp.Call, dir, arg, flags int) bool {
	p, ok := s.lookup(c, dir, arg, flags&unix.O_NOFOLLOW == 0)
	switch {
	case !ok:
		return false
	case !isServed(p):
		return s.openAbove(c, p, flags)
	case p == devPath:
		fd, err := s.openDevice(c, flags)
		if err != nil {
			s.log.Warn("the program cannot open the device", "thread", c.Thread, "err", err)
		}
		s.program.Answer(c, int64(fd), errnoOf(err))
	case p == cmPath:
		fd, err := s.openChannel(c, flags)
		if err != nil {
			s.log.Warn("the program cannot open rdma_cm", "thread", c.Thread, "err", err)
		}
		s.program.Answer(c, int64(fd), errnoOf(err))
	case flags&(unix.O_PATH|unix.O_NOFOLLOW) == unix.O_PATH|unix.O_NOFOLLOW && s.isLink(p):
		return s.openLink(c, dir, arg, p, flags)
	default:
		s.openFile(c, s.tree.root+p, flags)
	}
	return true
}

// isLink reports whether a path is that of a symbolic link in the tree.
func (s *supervisor) isLink(p string) bool {
	var st unix.Stat_t
	return unix.Lstat(s.tree.root+p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// openLink opens a symbolic link itself, which only the program's thread can: it opens the last
// name of its path from the link's folder in the tree. openLink returns false if the call of the
// program is just that.
func (s *supervisor) openLink(c *seccomp.Call, dir, arg int, p string, flags int) bool {
	name, err := process.ReadString(process.Thread(c.Thread), c.Args[arg], pathLimit)
	if err != nil {
		s.program.Answer(c, 0, syscall.EFAULT)
		return true
	}
	at := strings.LastIndexByte(name, '/') + 1
	if at == 0 && dir != none && int32(c.Args[dir]) != unix.AT_FDCWD {
		if from, ok := s.folder(c, dir); ok && isServed(from) {
			return false
		}
	}
	folder, err := openFolder(s.tree.root + path.Dir(p))
	if err != nil {
		s.program.Answer(c, 0, errnoOf(err))
		return true
	}
	defer folder.Close()
	fd, err := unix.FcntlInt(folder.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		s.program.Answer(c, 0, errnoOf(err))
		return true
	}
	s.later(c, func() { // the thread makes calls meanwhile, which need an answer
		if !s.callFrom(c, fd, func(n int) threadCall {
			return threadCall{unix.SYS_OPENAT, [3]uint64{uint64(n), c.Args[arg] + uint64(at), uint64(flags)}}
		}) {
			s.program.Answer(c, 0, syscall.ELOOP)
		}
	})
	return true
}

// openHow returns the flags in the struct open_how of a call of openat2. It returns false for
// requirements on the path's resolution, which the kernel checks.
func openHow(t threadMemory, addr, n uint64) (flags int, ok bool) {
	var how unix.OpenHow
	if n < uint64(unix.SizeofOpenHow) || t.Read(bytesOf(&how), addr) != nil {
		return 0, false
	}
	return int(how.Flags), how.Resolve == 0
}

// openFile opens a file or folder in the tree for the program.
func (s *supervisor) openFile(c *seccomp.Call, name string, flags int) {
	if flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_CREAT != 0 {
		e := syscall.EROFS
		if err := unix.Access(name, unix.F_OK); err != nil && flags&unix.O_CREAT == 0 {
			e = errnoOf(err)
		}
		s.program.Answer(c, 0, e)
		return
	}
	flags &^= unix.O_PATH // the kernel passes on no descriptors of that kind
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		s.program.Answer(c, 0, errnoOf(err))
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		s.giveFolder(c, fd, flags&unix.O_CLOEXEC != 0)
		return
	}
	if err := s.program.AnswerFD(c, fd, flags&unix.O_CLOEXEC != 0); err != nil {
		s.program.Answer(c, 0, errnoOf(err))
	}
}

// openDevice makes a file for the device and gives it to the program. It returns its descriptor
// there.
func (s *supervisor) openDevice(c *seccomp.Call, flags int) (int, error) {
	s.forgetUnused()
	p, err := process.Open(c.Thread)
	if err != nil {
		return -1, err
	}
	if err := mayRing(p.PID); err != nil {
		_ = p.Close()
		return -1, err
	}
	f, err := newFile(p)
	if err != nil {
		_ = p.Close()
		return -1, err
	}
	m := f.deviceMemory()
	m.PID, m.Process = p.PID, s.checkedName(p.PID)
	if f.ctx, err = s.device.Open(m); err != nil {
		f.close()
		return -1, err
	}
	if err := s.doorbell.add(f); err != nil {
		f.ctx.Close()
		f.close()
		return -1, fmt.Errorf("nobody would hear of its work requests (a user has fs.inotify.max_user_watches of these): %w", err)
	}
	if f.number, err = s.numbers.add(s.program.Listener, c, p.PID, seccomp.Devices, f.fd, flags&unix.O_CLOEXEC != 0); err != nil {
		s.doorbell.remove(f)
		f.ctx.Close()
		f.close()
		return -1, err
	}
	s.mu.Lock()
	s.files[f] = struct{}{}
	s.mu.Unlock()
	s.tellProcess(p.PID)
	s.log.Info("the device is open", "pid", p.PID, "fd", f.number)
	return f.number, nil
}

// process returns the process of a thread that uses f, and opens it if necessary.
func (f *openFile) process(tid int) (*process.Process, error) {
	pid, err := process.Leader(tid)
	if err != nil {
		return nil, err
	}
	if p := f.known(pid); p != nil && !p.HasEnded() {
		p.Stay()
		return p, nil
	}
	p, err := process.Open(tid)
	if err != nil {
		return nil, err
	}
	return f.adopt(p), nil
}

// adopt records that p uses f, and returns p. If another call has recorded the same process first,
// adopt closes p and returns the recorded one, which is in use.
func (f *openFile) adopt(p *process.Process) *process.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.children[p.PID]
	if old != nil && !old.HasEnded() {
		_ = p.Close()
		return old
	}
	if old != nil { // the number has been reused
		_ = old.Close()
	}
	if f.children == nil {
		f.children = make(map[int]*process.Process)
	}
	f.children[p.PID] = p
	return p
}

// known returns the process with this number if it has used f before, or nil.
func (f *openFile) known(pid int) *process.Process {
	if pid == f.opener.PID && !f.opener.HasEnded() {
		return f.opener
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.children[pid]
}

// newFile makes the file that a process will map, as large as the limits of this process allow.
func newFile(p *process.Process) (*openFile, error) {
	for size := fileLen; ; size /= 4 {
		f, err := newFileOf(p, size)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EFBIG) && !errors.Is(err, unix.ENOMEM):
			return nil, err
		case size <= leastFileLen:
			return nil, fmt.Errorf("a device needs a file of %d MiB (ulimit -f, ulimit -v): %w", size>>20, err)
		}
	}
}

func newFileOf(p *process.Process, size int) (*openFile, error) {
	made, err := unix.MemfdCreate(fileName, unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(made)
	if err := unix.Ftruncate(made, int64(size)); err != nil {
		return nil, err
	}
	// The seals keep the program from truncating the file, which would end this process with a
	// SIGBUS.
	const seals = unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(made), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	// The kernel sends no notifications for writes through the descriptor that memfd_create
	// returned, but it does for writes through another open of the same file.
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", made), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := &openFile{opener: p, fd: fd, heard: bellAt} // +checklocksignore: nobody else has f yet
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		f.id = fileID{st.Dev, st.Ino}
		if _, err = unix.Seek(fd, bellAt, 0); err == nil {
			f.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return f, nil
}

// ringsAt returns the offset of the rings in a file of n bytes. The part before them has room for
// doorbells that the supervisor has not handled yet.
func ringsAt(n int) int { return n / 2 }

// deviceMemory returns the memory of the device's rings. Its Release returns the pages of a part to
// the system.
func (f *openFile) deviceMemory() softrnic.Memory {
	return softrnic.Memory{Bytes: f.memory, From: uint64(ringsAt(len(f.memory))), Release: func(part []byte) {
		_ = unix.Madvise(part, unix.MADV_REMOVE) // on an error the pages stay until the file is closed
	}}
}

// mayRing returns an error if a process's limit on file size is too low for its doorbells: the
// kernel would end the process by SIGXFSZ.
func mayRing(pid int) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return err
	}
	const need = bellAt + 4*bellRange
	if limit.Cur < need {
		return fmt.Errorf("its files may have %d bytes (ulimit -f), and its doorbells need %d: %w", limit.Cur, need, unix.EFBIG)
	}
	return nil
}

// close unmaps the memory, closes the file and closes all processes.
func (f *openFile) close() {
	_ = unix.Munmap(f.memory)
	_ = unix.Close(f.fd)
	_ = f.opener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.children {
		_ = p.Close()
	}
}

// file returns the device's file behind a descriptor of the thread's process, or nil. A duplicate,
// and a descriptor that a child has inherited, refer to the same file.
func (s *supervisor) file(thread, fd int) *openFile {
	if f := s.sameFile(thread, fd); f != nil {
		return f
	}
	id, ok := fileAt(fmt.Sprintf("/proc/%d/fd/%d", thread, fd))
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.files {
		if f.id == id {
			return f
		}
	}
	return nil
}

// fewFiles are so few files that each of them is compared with a descriptor.
const fewFiles = 4

// sameFile is file that asks the kernel, which takes no path: so it is quicker than fileAt. It also
// returns nil if the kernel does not tell, or if the program has opened its file once more in
// /proc.
func (s *supervisor) sameFile(thread, fd int) *openFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) > fewFiles {
		return nil
	}
	for f := range s.files {
		const file = 0 // KCMP_FILE
		if order, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(thread), file, uintptr(f.fd), uintptr(fd), 0); e == 0 && order == 0 {
			return f
		}
	}
	return nil
}

// A fileID identifies an open file.
type fileID struct{ dev, ino uint64 }

// fileAt returns the file behind a link in /proc/PID/fd, if its name is that of a device's file. A
// stat of a file on another file system could take arbitrarily long, and such a file may have the
// same name, so fileAt does not let the file system synchronize.
func fileAt(link string) (id fileID, ok bool) {
	if to, err := os.Readlink(link); err != nil || !strings.HasPrefix(to, "/memfd:"+fileName) {
		return fileID{}, false
	}
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st) != nil {
		return fileID{}, false
	}
	return fileID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}, true
}

// fileName is the name of the device's files in /proc/PID/fd.
const fileName = "uverbs"

// watch ends the file's context when the program has closed the device. The program gets the
// channel for asynchronous events with the context and closes both together, so watch waits until
// the program's end of that channel is closed. fd is a copy of the supervisor's end.
func (s *supervisor) watch(f *openFile, fd int) {
	defer survives(s.log, "a device that is closed")
	p := []unix.PollFd{{Fd: int32(fd)}}
	for {
		if _, err := unix.Poll(p, -1); err == nil && p[0].Revents != 0 {
			break
		}
	}
	unix.Close(fd)
	s.log.Info("the device is closed", "pid", f.opener.PID, "fd", f.number)
	s.forget(f)
}

// forgetUnused ends the files that programs have opened and closed without making a context. The
// supervisor is not notified of such a close. There are few of them, so openDevice checks.
func (s *supervisor) forgetUnused() {
	s.mu.Lock()
	var unused []*openFile
	for f := range s.files {
		if !f.connected.Load() && !f.isHeld() {
			unused = append(unused, f)
		}
	}
	s.mu.Unlock()
	for _, f := range unused {
		s.forget(f)
	}
}

// isHeld reports whether the opener still has a descriptor of f.
func (f *openFile) isHeld() bool { return f.isHeldBy(f.opener.PID) }

func (f *openFile) isHeldBy(pid int) bool {
	folder, all, err := descriptors(pid)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for _, x := range all {
		if id, ok := fileAt(folder + x.Name()); ok && id == f.id {
			return true
		}
	}
	return false
}

// forget ends a file and its context.
func (s *supervisor) forget(f *openFile) {
	s.mu.Lock()
	_, known := s.files[f]
	delete(s.files, f)
	s.mu.Unlock()
	if known {
		s.doorbell.remove(f)
		f.ctx.Close()
		f.close()
	}
}
