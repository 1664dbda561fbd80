//go:build !race

package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/extsock"
)

// A footprint is the code that an echo executes at one end. After a pause, or among many
// connections, a message takes as long as its code takes to arrive in the processor: by lines of 64
// bytes, and by pages, whose translations are gone too.
type footprint struct{ pages, lines, functions int }

// TestFootprint executes the server's end of an echo in single steps, and counts the pages, lines
// and functions of this module that it touches. The runtime's are in the log. The bounds are a
// tenth above what was counted. Where the code of a message grows on purpose, they may, too. If
// only the pages are too many, functions that every message runs have moved away from each other:
// the linker keeps the order of the files of a package, and of the functions in a file. Less than
// half of a bound means that the stepper misses code.
func TestFootprint(t *testing.T) {
	for kind, most := range map[idleKind]footprint{
		idleStream:   {pages: 61, lines: 1090, functions: 253},
		idleMessages: {pages: 59, lines: 960, functions: 235},
	} {
		t.Run(string(kind), func(t *testing.T) {
			own := measureFootprint(t, kind)
			for _, count := range [][2]int{{own.pages, most.pages}, {own.lines, most.lines}, {own.functions, most.functions}} {
				if count[0] > count[1] || count[0] < count[1]/2 {
					t.Errorf("an echo executes %+v of this module, want at most %+v, and at least half", own, most)
					break
				}
			}
		})
	}
}

// measureFootprint returns what an echo executes of this module.
func measureFootprint(t *testing.T, kind idleKind) footprint {
	// The monitor does not run, so nobody would preempt. A collection would show in an echo.
	cmd := selfCommand(t.Context(), echoPeerEnv+"="+string(kind), "GODEBUG=asyncpreemptoff=1", "GOGC=off", "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // for stepper.wait
	p := startPeer(t, cmd)
	c, err := extsock.Dial("tcp", p.line(t), idleJob{Kind: kind}.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	b := make([]byte, echoSize)
	echo := func() error {
		if _, err := c.Write(b); err != nil {
			return err
		}
		_, err := io.ReadFull(c, b)
		return err
	}
	for range 100 {
		if err := echo(); err != nil {
			t.Fatal(err)
		}
	}
	const before, echoes = 3, 5
	s := attach(t, p.cmd.Process.Pid)
	defer s.end()
	seen := make(map[uintptr]int)
	for i := range before + echoes {
		executed := make(map[uintptr]bool)
		s.during(echo, executed)
		if i < before {
			continue
		}
		for pc := range executed {
			seen[pc]++
		}
	}
	maps.DeleteFunc(seen, func(_ uintptr, n int) bool { return n <= echoes/2 })
	return summarize(t, slices.Collect(maps.Keys(seen)))
}

// summarize logs what the instructions at pcs are part of, by package, and returns the footprint of
// this module.
func summarize(t *testing.T, pcs []uintptr) footprint {
	const module = "github.com/rddp/rddp"
	packages := make(map[string][]uintptr)
	for _, pc := range pcs {
		name := packageOf(pc)
		packages[name] = append(packages[name], pc)
		if strings.HasPrefix(name, module+"/") && !strings.HasSuffix(name, "_test") {
			packages[module] = append(packages[module], pc)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		t.Logf("%-50s %+v", name, footprintOf(packages[name]))
	}
	return footprintOf(packages[module])
}

func footprintOf(pcs []uintptr) footprint {
	pages, lines, functions := make(map[uintptr]bool), make(map[uintptr]bool), make(map[uintptr]bool)
	for _, pc := range pcs {
		pages[pc/4096], lines[pc/64], functions[runtime.FuncForPC(pc).Entry()] = true, true, true
	}
	return footprint{len(pages), len(lines), len(functions)}
}

// packageOf returns the package of the function that pc is in. Functions that are inlined there
// belong to it.
func packageOf(pc uintptr) string {
	path := runtime.FuncForPC(runtime.FuncForPC(pc).Entry()).Name()
	if i := strings.IndexAny(path, "(["); i >= 0 {
		path = path[:i]
	}
	slash := strings.LastIndexByte(path, '/') + 1
	name, _, _ := strings.Cut(path[slash:], ".")
	return path[:slash] + name
}

// A stepper executes another process of this binary in single steps. All its calls come from one
// thread, as ptrace demands.
type stepper struct {
	t       *testing.T
	pid     int
	monitor int // the runtime's monitor, the second thread: it stays stopped, or it would find the program slow
	last    map[int]uintptr
}

// attach stops all threads of the process. The test fails if it may not.
func attach(t *testing.T, pid int) *stepper {
	runtime.LockOSThread()
	s := &stepper{t: t, pid: pid, last: make(map[int]uintptr)}
	threads := s.threads()
	slices.Sort(threads)
	s.monitor = threads[slices.Index(threads, pid)+1]
	for _, thread := range threads {
		if err := ptrace(unix.PTRACE_SEIZE, thread, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
			t.Fatalf("ptrace does not work here: %v", err)
		}
		if err := unix.PtraceInterrupt(thread); err != nil {
			t.Fatalf("PTRACE_INTERRUPT: %v", err)
		}
	}
	return s
}

// end kills the process, and waits for all its threads, for which nobody else could wait.
func (s *stepper) end() {
	unix.Kill(s.pid, unix.SIGKILL)
	for err := error(nil); err == nil; {
		_, err = s.wait(nil)
	}
	runtime.UnlockOSThread()
}

// wait waits for a thread of the process, which alone is in its process group. It does not wait for
// other children of this process that this thread may have started.
func (s *stepper) wait(status *unix.WaitStatus) (thread int, err error) {
	for {
		thread, err = unix.Wait4(-s.pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return thread, err
		}
	}
}

// over is the signal that ends during. The program takes it for a preemption, and gets none of
// those.
const over = unix.SIGURG

// during calls f in another goroutine, and steps until f has returned and all threads sleep. It
// adds the instructions that the process executes to executed.
func (s *stepper) during(f func() error, executed map[uintptr]bool) {
	result := make(chan error, 1)
	go func() {
		err := f()
		for asleep := 0; asleep < 3; time.Sleep(time.Millisecond) {
			if asleep++; !s.sleeps() {
				asleep = 0
			}
		}
		result <- err
		unix.Kill(s.pid, over)
	}()
	for {
		var status unix.WaitStatus
		thread, err := s.wait(&status)
		if err != nil {
			s.t.Fatalf("wait4: %v", err)
		}
		s.step(thread, status, executed)
		if status.Stopped() && status.StopSignal() == over {
			if err := <-result; err != nil {
				s.t.Fatal(err)
			}
			return
		}
	}
}

// step notes where the thread has stopped, and lets it go on for an instruction.
func (s *stepper) step(thread int, status unix.WaitStatus, executed map[uintptr]bool) {
	if !status.Stopped() || thread == s.monitor {
		return
	}
	signal := 0
	if stop := status.StopSignal(); stop != unix.SIGTRAP && stop != over {
		signal = int(stop)
	} else if stop == unix.SIGTRAP && status>>16 == 0 {
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(thread, &regs); err != nil {
			s.t.Fatalf("PTRACE_GETREGS: %v", err)
		}
		if pc := uintptr(regs.Rip); runtime.FuncForPC(pc) != nil { // not in the kernel's vdso
			executed[pc] = true
		}
	}
	if err := ptrace(unix.PTRACE_SINGLESTEP, thread, uintptr(signal)); err != nil && !errors.Is(err, unix.ESRCH) {
		s.t.Fatalf("PTRACE_SINGLESTEP: %v", err)
	}
}

func ptrace(request uintptr, thread int, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, request, uintptr(thread), 0, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// sleeps reports whether all threads but the monitor wait in the kernel.
func (s *stepper) sleeps() bool {
	for _, thread := range s.threads() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", s.pid, thread))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		if thread != s.monitor && !bytes.HasPrefix(rest, []byte("S")) {
			return false
		}
	}
	return true
}

// threads returns the threads of the process, of which none may be left.
func (s *stepper) threads() (threads []int) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			threads = append(threads, id)
		}
	}
	return threads
}
