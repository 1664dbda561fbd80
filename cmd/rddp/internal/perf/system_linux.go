package perf

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// machine returns the kernel's name for the model of the CPU, or "".
func machine() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	return modelOf(string(text))
}

// resident returns the resident memory of this process in bytes, or 0 if the kernel does not tell.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	if n, _ := fmt.Sscan(string(text), &size, &pages); n < 2 {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// modelOf returns the model of the first CPU in the text of /proc/cpuinfo.
func modelOf(text string) string {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func setCongestion(raw syscall.RawConn, name string) error {
	return control(raw, func(fd int) error {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
			if err == unix.ENOENT {
				return wrongOption("congestion", "%q: this system has %s", name, strings.Join(strings.Fields(sysctl("tcp_available_congestion_control")), ", "))
			}
			return wrongOption("congestion", "%q: %v", name, err)
		}
		return nil
	})
}

// systemCongestion returns the congestion control that a connection has by default, or "" if the
// system does not show it.
func systemCongestion() string {
	return strings.TrimSpace(sysctl("tcp_congestion_control"))
}

// sysctl returns the value of a setting of TCP, or "" if the system does not show it.
func sysctl(name string) string {
	b, _ := os.ReadFile("/proc/sys/net/ipv4/" + name) // b is empty after an error
	return string(b)
}

// congestionOf returns the congestion control of a socket.
func congestionOf(raw syscall.RawConn) (name string, err error) {
	err = control(raw, func(fd int) (err error) {
		name, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	})
	return name, err
}

// pin makes all threads of this process run on one CPU, and sets GOMAXPROCS to 1. If cpu is
// negative, pin uses the highest CPU that the process may use. It returns the CPU, and a function
// that undoes pin.
func pin(cpu int) (pinned int, unpin func(), err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return 0, nil, err
	}
	if cpu < 0 {
		for i := range len(before) * strconv.IntSize {
			if before.IsSet(i) {
				cpu = i
			}
		}
	}
	var only unix.CPUSet
	only.Set(cpu)
	if !only.IsSet(cpu) {
		return 0, nil, fmt.Errorf("there is no CPU %d", cpu)
	}
	if err := setAffinity(&only); err != nil {
		return 0, nil, fmt.Errorf("pinning to CPU %d: %w", cpu, err)
	}
	procs := runtime.GOMAXPROCS(1)
	return cpu, func() {
		_ = setAffinity(&before) // cannot fail, because it was the affinity before
		runtime.GOMAXPROCS(procs)
	}, nil
}

// setAffinity sets the affinity of all threads. A new thread inherits the affinity of its creator,
// so setAffinity repeats until there are no new threads.
func setAffinity(set *unix.CPUSet) error {
	done := make(map[int]bool)
	for {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		found := false
		for _, entry := range entries {
			tid, err := strconv.Atoi(entry.Name())
			if err != nil || done[tid] {
				continue
			}
			if err := unix.SchedSetaffinity(tid, set); err != nil && err != unix.ESRCH { //nolint:errorlint // an Errno as it is
				return err
			}
			done[tid], found = true, true
		}
		if !found {
			return nil
		}
	}
}
