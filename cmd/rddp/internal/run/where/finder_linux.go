//go:build amd64 || arm64

package where

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
)

// A Finder finds Sites in programs. Any goroutine may call the methods.
type Finder struct {
	// asking holds a token while a reader is asked, or its state changed
	asking chan struct{}
	silent int    // readers that did not answer; asking guards it
	tables uint64 // bytes of the frame descriptions that are kept; asking guards it

	mu locks.Mutex[locks.Leaf]
	// the threads that have been looked at; one that is being looked at is not here
	threads map[int]*thread // +checklocks:mu
	// the files of programs
	files map[fileKey]*file // +checklocks:mu
	// the sites, by their frames
	sites map[string]*Site // +checklocks:mu
	// epoch changes when code that a thread knows may have gone
	epoch uint64 // +checklocks:mu
	// the memory that processes have given up lately, the oldest first, and how often they have
	given []given // +checklocks:mu
	gives uint64  // +checklocks:mu
	// uses counts the calls of Site
	uses uint64 // +checklocks:mu
}

// Bounds of a Finder.
const (
	maxThreads = 64 // each has a descriptor
	maxFiles   = 64 // each has a descriptor, and may have a reader
	maxSites   = 1 << 14
	maxSilent  = 3 // readers that do not answer
	maxMaps    = 8 << 20
	maxGiven   = 64
	maxTables  = 2 * maxTable
	maxOld     = 8 // memory maps that may still have what is given up
)

// A thread is one whose sites have been looked for.
type thread struct {
	pid   int
	call  *os.File // tells its stack pointer and program counter while it is in a call
	space *space
	epoch uint64
	used  uint64 // the last use
	fresh bool   // the space was read in this use
}

// A given is memory that a process gives up.
type given struct {
	pid     int
	addr, n uint64
	number  uint64 // of this event
	old     int    // how many memory maps may still have it
}

// A fileKey is what a memory map says of a file.
type fileKey struct {
	device string
	inode  uint64
	path   string
}

// New returns a Finder without programs.
func New() *Finder {
	return &Finder{
		asking: make(chan struct{}, 1), threads: make(map[int]*thread), files: make(map[fileKey]*file), sites: make(map[string]*Site),
	}
}

// Close ends the child processes. Sites remain, and say what they have said before.
func (f *Finder) Close() {
	f.mu.Lock()
	for tid, t := range f.threads {
		_ = t.call.Close()
		delete(f.threads, tid)
	}
	f.mu.Unlock()
	f.asking <- struct{}{}
	defer func() { <-f.asking }()
	f.silent = maxSilent
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.files {
		x.close()
	}
}

// Gives is the event that a process gives up n bytes of memory at addr. What is known of its code
// may be wrong then.
func (f *Finder) Gives(pid int, addr, n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gives++
	if len(f.given) == maxGiven {
		f.given = slices.Delete(f.given, 0, 1)
	}
	f.given = append(f.given, given{pid, addr, n, f.gives, maxOld})
	for _, t := range f.threads {
		if t.pid == pid && t.epoch == f.epoch && t.space.forgets(addr, n) {
			f.epoch++
		}
	}
}

// isOldLocked reports whether a thread's memory map may have code that the process has given up
// since that event. The process gives it up only after the event, so a map that is read after it
// may have it, too.
//
// +checklocks:f.mu
func (f *Finder) isOldLocked(t *thread, since uint64) (old bool) {
	for i := range f.given {
		g := &f.given[i]
		if g.pid != t.pid || g.number <= since && (!t.fresh || g.old == 0) || !t.space.forgets(g.addr, g.n) {
			continue
		}
		g.old = max(g.old-1, 0)
		old = true
	}
	return old || f.gives-since > maxGiven
}

// keepLocked keeps a thread that has been looked at, unless what is known of it may be wrong. The
// one that was not looked at for the longest time makes room.
//
// +checklocks:f.mu
func (f *Finder) keepLocked(tid int, t *thread, since uint64) {
	if t.space == nil || f.isOldLocked(t, since) {
		t.close()
		return
	}
	if len(f.threads) == maxThreads {
		last := tid
		for i, x := range f.threads {
			if last == tid || x.used < f.threads[last].used {
				last = i
			}
		}
		f.threads[last].close()
		delete(f.threads, last)
	}
	f.uses++
	t.used = f.uses
	f.threads[tid] = t
}

// Executes is the event that a process is about to execute another program.
func (f *Finder) Executes() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
}

// Site returns where a thread is that waits in a system call, or nil if that is not certain. The
// thread must not go on before Site returns.
func (f *Finder) Site(tid int) *Site {
	if runtime.GOARCH != "amd64" {
		return nil // walk knows no other frames
	}
	f.mu.Lock()
	t, epoch, since := f.threads[tid], f.epoch, f.gives
	delete(f.threads, tid)
	f.mu.Unlock()
	if t != nil && t.epoch != epoch {
		t.close()
		t = nil
	}
	sp, pc, err := t.at()
	if err != nil { // it is another thread with that number, or a new one
		t.close()
		if t = open(tid, epoch); t == nil {
			return nil
		}
		sp, pc, err = t.at()
	}
	if err != nil {
		t.close()
		return nil
	}
	t.fresh = false
	m := look(process.Thread(tid), sp)
	frames := t.walk(m, sp, pc, filesOf{f, t.pid, m})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keepLocked(tid, t, since)
	return f.siteLocked(t, frames)
}

// walk goes along the stack. If the memory map does not have the code that was called, it has
// changed since.
func (t *thread) walk(m Memory, sp, pc uint64, f files) []point {
	if t.space == nil || !t.space.knows(pc) {
		if t.renew() != nil {
			return nil
		}
	}
	frames := t.space.walk(m, sp, pc, f)
	if len(frames) == 0 && t.space.missed && t.renew() == nil {
		frames = t.space.walk(m, sp, pc, f)
	}
	return frames
}

// renew reads the memory map.
func (t *thread) renew() error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", t.pid))
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMaps))
	if err != nil {
		return err
	}
	t.space, t.fresh = newSpace(text), true
	return nil
}

// siteLocked returns the Site of the frames. Equal ones have the same.
//
// +checklocks:f.mu
func (f *Finder) siteLocked(t *thread, frames []point) *Site {
	if len(frames) == 0 {
		return nil
	}
	key := make([]byte, 0, 16*len(frames))
	for _, x := range frames {
		key = fmt.Appendf(key, "%p", x.object.file)
		key = append(key, x.object.name...)
		key = binary.LittleEndian.AppendUint64(key, x.addr)
	}
	s := f.sites[string(key)]
	if s == nil {
		s = &Site{lookup: f.lookup, frames: frames, static: !t.space.hasLibs, byManager: t.space.byManager}
		if len(f.sites) < maxSites {
			f.sites[string(key)] = s
		}
	}
	return s
}

// open begins to look at a thread.
func open(tid int, epoch uint64) *thread {
	pid, err := process.Leader(tid)
	if err != nil {
		return nil
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return nil
	}
	return &thread{pid: pid, call: f, epoch: epoch}
}

func (t *thread) close() {
	if t != nil {
		_ = t.call.Close()
	}
}

var errRuns = errors.New("the thread is not in a system call")

// at returns the stack pointer and the program counter of a thread in a call.
func (t *thread) at() (sp, pc uint64, err error) {
	if t == nil {
		return 0, 0, errRuns
	}
	var b [256]byte
	for range 3 { // it may be on its way into the call
		n, err := unix.Pread(int(t.call.Fd()), b[:], 0)
		if err != nil {
			return 0, 0, err
		}
		if sp, pc, err = parseCall(b[:n]); err == nil {
			return sp, pc, nil
		}
		runtime.Gosched()
	}
	return 0, 0, errRuns
}

// parseCall parses /proc/PID/syscall: the last two numbers are the registers.
func parseCall(b []byte) (sp, pc uint64, err error) {
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0, 0, errRuns
	}
	if sp, err = strconv.ParseUint(f[len(f)-2], 0, 64); err == nil {
		pc, err = strconv.ParseUint(f[len(f)-1], 0, 64)
	}
	return sp, pc, err
}

// filesOf are the files of a process.
type filesOf struct {
	*Finder
	pid    int
	memory Memory
}

func (f filesOf) file(m *mapping) *file {
	key := fileKey{m.device, m.inode, m.path}
	if x, ok := f.Finder.opened(key); ok {
		return x
	}
	x := inTime(func() *os.File { return openMapped(f.pid, m, f.memory) })
	return f.Finder.add(key, &file{File: x, lines: make(map[uint64][]line)})
}

// inTime returns the file that open opens, or nil if that takes too long: the file system may be
// one that never answers.
func inTime(open func() *os.File) *os.File {
	opened, late := make(chan *os.File), make(chan struct{})
	go func() {
		x := open()
		select {
		case opened <- x:
		case <-late:
			_ = x.Close() // or it is nil
		}
	}()
	select {
	case x := <-opened:
		return x
	case <-time.After(answerTime):
		close(late)
		return nil
	}
}

// opened returns a file that has been opened. ok is false if it is to be opened.
func (f *Finder) opened(key fileKey) (x *file, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x = f.files[key]
	return x, x != nil || len(f.files) == maxFiles
}

// add adds a file, unless another thread of the program was faster. It returns the file that is
// there, or nil if there are too many.
func (f *Finder) add(key fileKey, fresh *file) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.files[key]
	if x == nil && len(f.files) < maxFiles {
		f.files[key] = fresh
		return fresh
	}
	fresh.close()
	return x
}

// table returns the frame descriptions of a file, which are those in the memory of the first
// program that has it. A file has them once, however often it is mapped.
func (f filesOf) table(x *file, bias uint64) frame.FrameDescriptionEntries {
	all, at, n := f.tableOf(x)
	if n == 0 {
		return all
	}
	return f.keepTable(x, n, readTable(f.memory, bias, at, n))
}

// tableOf returns the frame descriptions of a file, or where they are, if they are to be read and
// there is room.
func (f *Finder) tableOf(x *file) (all frame.FrameDescriptionEntries, at, n uint64) {
	f.asking <- struct{}{}
	defer func() { <-f.asking }()
	if x == nil || x.hasTable {
		return x.known(), 0, 0
	}
	err := f.askHeld(x, func(a asker) (err error) {
		at, n, err = a.frames()
		return err
	})
	if err != nil || n > min(maxTable, maxTables-f.tables) {
		n = 0
	}
	f.tables += n
	x.hasTable = n == 0
	return nil, at, n
}

// keepTable keeps the frame descriptions of a file, unless another thread was faster.
func (f *Finder) keepTable(x *file, n uint64, all frame.FrameDescriptionEntries) frame.FrameDescriptionEntries {
	f.asking <- struct{}{}
	defer func() { <-f.asking }()
	if x.hasTable || all == nil {
		f.tables -= n
	}
	if !x.hasTable {
		x.table, x.hasTable = all, true
	}
	return x.table
}

// openMapped opens the file of a mapping, or returns nil. The path may lead to another file by now.
func openMapped(pid int, m *mapping, memory Memory) *os.File {
	if root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		defer unix.Close(root)
		if f, err := openRegular(root, m.path, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS); err == nil {
			if isSame(f, m, memory) {
				return f
			}
			_ = f.Close()
		}
	}
	// Only with privilege, but for files that have no path any more, too.
	f, err := openRegular(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.start, m.end), 0)
	if err != nil {
		return nil
	}
	return f
}

// isSame reports whether a file begins like a mapping of one. The numbers of devices and inodes
// need not be the same: a file system may lie over another one.
func isSame(f *os.File, m *mapping, memory Memory) bool {
	const page = 4096
	var a, b [page]byte
	n, err := f.ReadAt(a[:], 0)
	if err != nil && err != io.EOF || n < fileHeaderLen {
		return false
	}
	n = min(n, int(m.end-m.start))
	return memory.Read(b[:n], m.start) == nil && bytes.Equal(a[:n], b[:n])
}

// lookup returns what the file of a point says of it.
func (f *Finder) lookup(x point) (all []line) {
	f.asking <- struct{}{}
	defer func() { <-f.asking }()
	o := x.object.file
	if o == nil {
		return nil
	}
	all, known := o.lines[x.addr]
	if !known {
		_ = f.askHeld(o, func(a asker) (err error) { // without an answer nothing is known
			all, err = a.ask(x.addr)
			return err
		})
		o.lines[x.addr] = all
	}
	return all
}

var errNoReader = errors.New("the file cannot be read, or too many could not")

// askHeld calls do with what reads a file. The caller holds the Finder's token.
func (f *Finder) askHeld(x *file, do func(asker) error) error {
	if x == nil || x.File == nil || f.silent == maxSilent {
		return errNoReader
	}
	r, err := x.read(func(o *os.File) (asker, error) { return newReader(o) })
	if err == nil {
		err = do(r)
	}
	if err != nil { // once is enough
		f.silent++
		x.close()
	}
	return err
}
