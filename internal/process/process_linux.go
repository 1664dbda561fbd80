package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
)

// A Process is another process. Its methods may be called from any goroutine, and fail once the
// process has ended.
//
// The system calls process_vm_readv and process_vm_writev fail if the process's first thread has
// ended, or if the process has made itself undumpable. The file /proc/TID/mem still works then, if
// it was opened before, so Open opens it. But writes through that file ignore page protection. So
// the file is used only if the system calls fail, and written only after a check of the process's
// memory map.
//
// When a process calls execve, it keeps its PID but not its memory. See Leave.
type Process struct {
	PID  int
	mem  *os.File
	maps *os.File
	life *os.File // readable when the process has ended

	mu locks.RWMutex[locks.Leaf] // read-locked during one of the two calls
	// the process with this PID may have other memory now
	left bool // +checklocks:mu

	// ended says that the process has ended, so its PID may have been reused. mu does not guard it,
	// because a call that waits for memory holds mu, and HasEnded must not wait for that.
	ended atomic.Bool
}

// Open opens the process of the given thread.
func Open(tid int) (*Process, error) {
	pid, err := Leader(tid)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid}
	// The memory is that of all threads, and the file outlives the thread. By the PID there is none
	// if the first thread has ended.
	if p.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", tid), os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if p.hasLeader() {
		tid = pid // which lives as long as the process, as a rule
	}
	if p.maps, err = os.Open(fmt.Sprintf("/proc/%d/maps", tid)); err != nil {
		p.mem.Close()
		return nil, err
	}
	if err := p.watch(); err != nil {
		return nil, errors.Join(err, p.mem.Close(), p.maps.Close())
	}
	return p, nil
}

// hasLeader reports whether the process's first thread lives.
func (p *Process) hasLeader() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	return err == nil && !bytes.Contains(b, []byte("\nState:\tZ"))
}

// watch sets ended when the process ends. That comes before its PID is reused, since the kernel
// does not reuse PIDs soon.
func (p *Process) watch() error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that the poller can wait for it
		unix.Close(fd)
		return err
	}
	p.life = os.NewFile(uintptr(fd), "process")
	raw, err := p.life.SyscallConn()
	if err != nil {
		return errors.Join(err, p.life.Close())
	}
	go func() {
		err := raw.Read(func(fd uintptr) bool {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0
		})
		if err == nil { // or p is closed
			p.ended.Store(true)
		}
	}()
	return nil
}

// HasEnded reports whether the process has ended. Its PID may then have been reused.
func (p *Process) HasEnded() bool { return p.ended.Load() }

// Close closes the files of p. The process itself continues.
func (p *Process) Close() error { return errors.Join(p.mem.Close(), p.maps.Close(), p.life.Close()) }

// Leave must be called before the process calls execve. When it returns, memory is no longer
// accessed by PID, but only through /proc/TID/mem, which refers to the memory at the time it was
// opened. So nothing is ever written to the memory of the next program.
func (p *Process) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
}

// Stay is called when the process uses something that does not survive execve. It undoes Leave if
// the execve has failed.
func (p *Process) Stay() {
	p.mu.RLock()
	left := p.left
	p.mu.RUnlock()
	if !left {
		return
	}
	if _, err := p.readMaps(); err != nil { // there is nothing left of this memory
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = false
}

// errLeft is the error for memory that is no longer accessible by PID.
var errLeft error = syscall.ESRCH

// Leader returns the PID of a thread's process.
func Leader(tid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(b, []byte("\nTgid:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.Atoi(string(line))
}

// errFault is the error for memory that is not mapped, or whose protection forbids the access.
var errFault error = syscall.EFAULT

// Read copies len(b) bytes at addr to b.
func (p *Process) Read(b []byte, addr uint64) error {
	err := p.transfer(unix.SYS_PROCESS_VM_READV, b, addr)
	if !elsewhere(err) {
		return err
	}
	if n, err := p.mem.ReadAt(b, int64(addr)); n < len(b) {
		return fmt.Errorf("%w: %v", errFault, err)
	}
	return nil
}

// Write copies b to addr.
func (p *Process) Write(b []byte, addr uint64) error {
	err := p.transfer(unix.SYS_PROCESS_VM_WRITEV, b, addr)
	if !elsewhere(err) {
		return err
	}
	if err := p.Check(addr, uint64(len(b)), true); err != nil {
		return err
	}
	if n, err := p.mem.WriteAt(b, int64(addr)); n < len(b) {
		return fmt.Errorf("%w: %v", errFault, err)
	}
	return nil
}

// elsewhere reports whether /proc/TID/mem may work although the system call has failed with err.
func elsewhere(err error) bool { return err == syscall.EPERM || err == syscall.ESRCH }

// transfer makes one of the two system calls. The kernel copies the bytes once. The call may wait
// for a page that is on a disk or that the program withholds, so it must be a Syscall that the Go
// scheduler knows of. With 4 KiB, that costs 3 to 9 % of a Write's processor time, 16 Writes at a
// time; with 64 bytes or 64 KiB it is not measurable (BenchmarkWrite through memory, six times each
// in turn, on a busy machine).
func (p *Process) transfer(nr uintptr, b []byte, addr uint64) error {
	if len(b) == 0 {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.left || p.ended.Load() {
		return errLeft
	}
	return transfer(p.PID, nr, b, addr)
}

// transfer makes the call for the process with a number.
func transfer(pid int, nr uintptr, b []byte, addr uint64) error {
	local := unix.Iovec{Base: unsafe.SliceData(b)}
	local.SetLen(len(b))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(b)}
	n, _, e := unix.Syscall6(nr, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	switch {
	case e != 0:
		return e
	case int(n) < len(b):
		return errFault
	}
	return nil
}

// Check returns an error unless all n bytes at addr are mapped and readable, and writable if write
// is true.
func (p *Process) Check(addr, n uint64, write bool) error {
	return p.walk(addr, n, func(m mapping) error {
		if !m.allows(write) {
			return errFault
		}
		return nil
	})
}

// readMaps returns the memory map. If the thread to which the file belongs has ended, and so has
// the first thread, it looks for another thread. After an execve there is a first thread.
func (p *Process) readMaps() ([]byte, error) {
	b, err := readMaps(p.maps)
	if len(b) > 0 {
		return b, nil
	}
	if !p.hasLeader() {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.PID))
		for _, thread := range threads {
			f, openErr := os.Open(thread + "/maps")
			if openErr != nil {
				continue
			}
			b, _ = readMaps(f)
			f.Close()
			if len(b) > 0 && !p.hasLeader() {
				return b, nil
			}
		}
	}
	return nil, fmt.Errorf("process %d: no memory map: %w", p.PID, err)
}

// readMaps returns the memory map that f has. If it is empty, err says why.
func readMaps(f *os.File) (b []byte, err error) {
	b = make([]byte, 0, 16<<10)
	for {
		if cap(b)-len(b) < 4096 {
			b = append(b, make([]byte, cap(b))...)[:len(b)]
		}
		n, err := f.ReadAt(b[len(b):cap(b)], int64(len(b)))
		b = b[:len(b)+n]
		if n == 0 {
			return b, err
		}
	}
}

// parseMap parses a line of /proc/PID/maps: "from-to rights …".
func parseMap(line []byte) (from, to uint64, rights []byte, ok bool) {
	span, rest, _ := bytes.Cut(line, []byte(" "))
	a, b, found := bytes.Cut(span, []byte("-"))
	from, err1 := strconv.ParseUint(string(a), 16, 64)
	to, err2 := strconv.ParseUint(string(b), 16, 64)
	return from, to, rest, found && err1 == nil && err2 == nil && len(rest) >= 4
}

// ReadString returns the string at addr, without the terminating 0. It fails if the string has
// limit bytes or more.
func (p *Process) ReadString(addr uint64, limit int) (string, error) {
	return ReadString(p, addr, limit)
}

// A Reader reads the memory of a process.
type Reader interface {
	Read(b []byte, addr uint64) error
}

// ReadString returns the string at addr in the memory that r reads, without the terminating 0. It
// fails if the string has limit bytes or more.
func ReadString(r Reader, addr uint64, limit int) (string, error) {
	const pageSize = 4096
	var s []byte
	for len(s) < limit {
		// A string may end just before unmapped memory, so no read crosses a page boundary.
		n := min(256, pageSize-int(addr%pageSize), limit-len(s))
		s = slices.Grow(s, n)[:len(s)+n]
		b := s[len(s)-n:]
		if err := r.Read(b, addr); err != nil {
			return "", err
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(s[:len(s)-n+i]), nil
		}
		addr += uint64(n)
	}
	return "", syscall.ENAMETOOLONG
}

// A Thread is a thread whose system call waits for the supervisor. Its memory can be read and
// written like that of a Process, but no file stays open.
type Thread int

// Read copies len(b) bytes at addr to b.
func (t Thread) Read(b []byte, addr uint64) error {
	return t.reach(unix.SYS_PROCESS_VM_READV, (*Process).Read, b, addr)
}

// Write copies b to addr.
func (t Thread) Write(b []byte, addr uint64) error {
	return t.reach(unix.SYS_PROCESS_VM_WRITEV, (*Process).Write, b, addr)
}

// reach makes the system call. If that is forbidden, as in Docker before version 23, it opens a
// Process and uses other.
func (t Thread) reach(nr uintptr, other func(p *Process, b []byte, addr uint64) error, b []byte, addr uint64) error {
	err := transfer(int(t), nr, b, addr)
	if err != syscall.EPERM {
		return err
	}
	p, openErr := Open(int(t))
	if openErr != nil {
		return err
	}
	defer p.Close()
	return other(p, b, addr)
}
