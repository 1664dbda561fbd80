//go:build amd64 || arm64

package run

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// raceProgram opens and closes the device and rdma_cm, while other threads put descriptors at
// numbers that these may get. The threads' descriptors must stay what they are.
func raceProgram(args []string) error {
	rounds, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	file, err := unix.MemfdCreate("mine", 0)
	if err != nil {
		return err
	}
	var mine unix.Stat_t
	if err := unix.Fstat(file, &mine); err != nil {
		return err
	}
	isMine := func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
		if st.Ino != mine.Ino || st.Dev != mine.Dev {
			return fmt.Errorf("descriptor %d is another file: mode %o", fd, st.Mode)
		}
		return unix.Close(fd)
	}
	makers := []func() (int, error){
		func() (int, error) { return unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 960) },
		func() (int, error) { return unix.FcntlInt(uintptr(file), unix.F_DUPFD, 1010) },
		func() (int, error) { return 1021, unix.Dup3(file, 1021, unix.O_CLOEXEC) },
		func() (int, error) { return 1023, unix.Dup3(file, 1023, 0) },
	}
	ended := make(chan struct{})
	results := make(chan error, len(makers))
	var begun sync.WaitGroup // a Dup3 to the number of a device would replace the device
	begun.Add(len(makers))
	for i, maker := range makers {
		go func() {
			begin := sync.OnceFunc(begun.Done)
			defer begin()
			for {
				select {
				case <-ended:
					results <- nil
					return
				default:
				}
				fd, err := maker()
				if err == nil {
					err = isMine(fd)
				}
				begin()
				if err != nil {
					results <- fmt.Errorf("thread %d: %w", i, err)
					return
				}
			}
		}()
	}
	open := func() error {
		f, err := guest.OpenFile()
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		c, err := guest.OpenCM()
		if err != nil {
			return err
		}
		return c.Close()
	}
	begun.Wait()
	for range rounds {
		if err := open(); err != nil {
			return err
		}
	}
	close(ended)
	for range makers {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

// TestChosenNumbers: a number that the program has chosen once is not picked, unless all other
// numbers that select can handle are taken.
func TestChosenNumbers(t *testing.T) {
	var s numbers
	dup2 := func(n int) {
		s.note(&seccomp.Call{Kind: seccomp.Dup2, Thread: 1, Args: [6]uint64{0, uint64(n)}})
		s.note(&seccomp.Call{Thread: 1})
	}
	pick := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		n, _ := s.pickLocked(seccomp.Devices, nil, 4096, nil)
		return n
	}
	for _, want := range []int{1021, 1017, 1013} {
		if n := pick(); n != want {
			t.Errorf("picked %d, want %d", n, want)
		}
		dup2(want)
	}
	for n := range seccomp.Preferred {
		dup2(n)
	}
	dup2(seccomp.Preferred)
	if n := pick(); n != 1021 {
		t.Errorf("with all numbers chosen: picked %d, want 1021", n)
	}
}

// A descriptor of the device never replaces one that another thread has just made, and none
// replaces the device's descriptor.
func TestDescriptorOfAnotherThread(t *testing.T) {
	if err := under(performance(t, "race", strconv.Itoa(testmode.Count(2000, 200)))...).Run(); err != nil {
		t.Error(err)
	}
}

// crowdProgram opens many devices and channels in addition to many other descriptors.
func crowdProgram([]string) error {
	null, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for last := null; last < 1100; {
		if last, err = unix.Dup(null); err != nil {
			return err
		}
	}
	for i := range 100 {
		f, err := guest.OpenFile()
		if err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		if _, err := guest.Open(f); err != nil {
			return fmt.Errorf("context %d: %w", i, err)
		}
		c, err := guest.OpenCM()
		if err != nil {
			return fmt.Errorf("channel %d: %w", i, err)
		}
		if _, err := c.ID(1, guest.TCPSpace); err != nil {
			return fmt.Errorf("id of channel %d: %w", i, err)
		}
	}
	return nil
}

// A program can open as many devices and channels as its descriptor limit allows, even with more
// than 1,000 other descriptors.
func TestManyDescriptors(t *testing.T) {
	if err := under(performance(t, "crowd")...).Run(); err != nil {
		t.Error(err)
	}
}

// openNumbers returns the open descriptors of a process, and fails if it cannot see them.
func TestOpenNumbers(t *testing.T) {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 90)
	if err != nil {
		t.Fatal(err)
	}
	open, err := openNumbers(os.Getpid())
	if err != nil || !open[0] || !open[fd] {
		t.Errorf("%d is open: %v, %v", fd, open, err)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	if open, err = openNumbers(os.Getpid()); err != nil || open[fd] {
		t.Errorf("%d is closed: %v, %v", fd, open, err)
	}
	if _, err := openNumbers(1 << 30); err == nil {
		t.Error("a process that does not exist has descriptors")
	}
}

// A thread's call is recorded until its next call. The calls of threads that have ended are
// removed.
func TestNumbersNote(t *testing.T) {
	here := unix.Gettid()
	const nobody = 1 << 30
	var s numbers
	dups := func() map[int]seccomp.Dup {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(s.dups)
	}
	check := func(desc string, want map[int]seccomp.Dup) {
		t.Helper()
		if got := dups(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", desc, got, want)
		}
	}
	s.note(&seccomp.Call{Kind: seccomp.OpenAt, Thread: here})
	check("an open", nil)
	s.note(&seccomp.Call{Kind: seccomp.Dup2, Thread: here, Args: [6]uint64{1, 99}})
	s.note(&seccomp.Call{Kind: seccomp.DupFD, Thread: nobody, Args: [6]uint64{1, 0, 77 | 5<<32}})
	check("two dups", map[int]seccomp.Dup{here: {Number: 99, Exact: true}, nobody: {Number: 77}})
	s.note(&seccomp.Call{Kind: seccomp.FStat, Thread: here})
	check("the next call", map[int]seccomp.Dup{nobody: {Number: 77}})
	s.note(&seccomp.Call{Kind: seccomp.Dup2, Thread: here, Args: [6]uint64{1, 98}})
	for i := range dupsMost {
		s.note(&seccomp.Call{Kind: seccomp.Dup2, Thread: nobody + i, Args: [6]uint64{1, 99}})
	}
	if got := dups(); len(got) > dupsMost || got[here].Number != 98 {
		t.Errorf("%d calls are remembered, %v of this thread", len(got), got[here])
	}
	if !isThread(os.Getpid(), here) || isThread(os.Getpid(), nobody) {
		t.Error("isThread is wrong")
	}
}
