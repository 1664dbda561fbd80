package perf

import (
	"cmp"
	"errors"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pin confines all threads to one CPU, and unpin undoes that.
func TestPin(t *testing.T) {
	affinity := func() unix.CPUSet {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	before, procs := affinity(), runtime.GOMAXPROCS(0)
	cpu, unpin, err := pin(-1)
	if err != nil {
		t.Fatal(err)
	}
	if set := affinity(); set.Count() != 1 || !set.IsSet(cpu) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("pinned to CPU %d: %v, GOMAXPROCS %d", cpu, set, runtime.GOMAXPROCS(0))
	}
	unpin()
	if set := affinity(); set != before || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("unpinned: %v, want %v", set, before)
	}
	if _, _, err := pin(1 << 20); err == nil {
		t.Error("pinned to a CPU that cannot exist")
	}
}

// Both ends run on one CPU, with a congestion control that every Linux has and with fixed buffers.
func TestRunOneCPU(t *testing.T) {
	o := &Options{
		Addresses: []string{startPeer(t)}, Ops: []string{"echo"}, Sizes: []int{64}, Rounds: 1, Time: time.Millisecond, OneCPU: true, CPU: -1,
		Congestion: "reno", Buffer: 1 << 16,
	}
	for range 5 { // each needs the server for itself
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Results) != 2 || r.CPU < 0 || r.LineNS != 0 || r.Congestion != "reno" {
			t.Errorf("%+v", r)
		}
	}
	if r, own := newReport(new(Options)), systemCongestion(); r.Congestion == "" || r.Congestion != own {
		t.Errorf("the report names %q, the system has %q", r.Congestion, own)
	}
	o.Congestion = "unheard-of"
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `--congestion: "unheard-of": this system has `) || !strings.Contains(err.Error(), "reno") {
		t.Errorf("an unknown congestion control: %v", err)
	}
}

// Both ends of a connection begin with the congestion control of the session, or with the system's
// if the session has none.
func TestBeginWith(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.l.Close()
	before := s.own
	other := "reno" // every Linux has it
	if before == "" || before == other {
		other = "cubic"
	}
	for _, name := range []string{other, ""} {
		if err := s.beginWith(name); err != nil {
			t.Fatal(err)
		}
		d := net.Dialer{Control: beginWith(name)}
		x, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		y, err := s.l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		for _, c := range []net.Conn{x, y} {
			raw, err := c.(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			got, err := congestionOf(raw)
			if want := cmp.Or(name, before); err != nil || got != want {
				t.Errorf("with %q a connection begins with %q, want %q; %v", name, got, want, err)
			}
		}
	}
}

// This process and the servers must have files for all connections.
func TestFileLimits(t *testing.T) {
	few := func(o *Options, where string) {
		t.Helper()
		limit := (*FileLimitError)(nil)
		if _, err := Run(t.Context(), o); !errors.As(err, &limit) || limit.Limit != 200 || !strings.Contains(limit.Where, where) {
			t.Errorf("Run with few files for %s: %v", where, err)
		}
	}
	p, err := StartPeer(t.Context(), []string{os.Args[0]}, []string{peerEnv + "=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	small := unix.Rlimit{Cur: 200, Max: 200}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &small, nil); err != nil {
		t.Fatal(err)
	}
	few(&Options{Addresses: []string{p.Address}, Ops: []string{"echo"}, Sizes: []int{64}, Conns: []int{100}}, p.Address) // 200 connections
	few(&Options{Addresses: []string{p.Address}, Scale: true, Conns: []int{150}}, p.Address)

	var before unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	lower := unix.Rlimit{Cur: 200, Max: before.Max}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &lower, nil); err != nil {
		t.Fatal(err)
	}
	defer unix.Prlimit(0, unix.RLIMIT_NOFILE, &before, nil)
	few(&Options{Addresses: []string{p.Address}, Scale: true, Conns: []int{150}}, "this process")
}

func TestResident(t *testing.T) {
	const size = 64 << 20
	// The runtime may return memory of earlier tests in the meantime, but not repeatedly.
	var before, after int64
	for range 5 {
		debug.FreeOSMemory() // so that memory of earlier tests is not reused
		before = resident()
		p := make([]byte, size)
		touch(p)
		after = resident()
		runtime.KeepAlive(p)
		if before > 0 && after-before >= size/2 {
			return
		}
	}
	t.Errorf("resident memory was %d, and is %d after using %d bytes", before, after, size)
}

func TestModelOf(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Abacus 3: fast\n\nprocessor\t: 1\nmodel name\t: Other\n": "Abacus 3: fast",
		"processor\t: 0\nBogoMIPS\t: 50.00\n":                                                   "",
		"":                                                                                      "",
	} {
		if got := modelOf(text); got != want {
			t.Errorf("modelOf(%q) = %q, want %q", text, got, want)
		}
	}
}
