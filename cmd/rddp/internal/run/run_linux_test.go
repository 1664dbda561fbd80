//go:build amd64 || arm64

package run

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/softrnic/fault"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// The test binary has three roles besides running the tests: the supervisor, the stage that
// executes a program, and the programs. Two joined programs talk over their standard streams, which
// the test connects.
const (
	supervise = "supervise" // as the name of the process
	perform   = "perform"

	superviseCheck = "supervise-check"
	superviseNote  = "supervise-note" // checks too, and the status is the program's own
	findingsStatus = 88               // of a program that is checked and has findings

	// environment variables
	endsStage     = "RDDP_TEST_ENDS_STAGE" // has a signal end the stage
	addressOfTest = "RDDP_TEST_ADDRESS"    // the device's addresses, if it is not 127.0.0.1
)

func TestMain(m *testing.M) {
	if strings.HasPrefix(os.Args[0], "rddp-run-stage") && os.Getenv(endsStage) != "" {
		endBy(syscall.SIGTERM)
	}
	Stage()
	switch os.Args[0] {
	case superviseTCP, superviseListen:
		status, err := superviseConnections(os.Args[0])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 125
		}
		os.Exit(status)
	case supervise, superviseIWARP, superviseCheck, superviseNote:
		faults, err := fault.Parse(strings.Fields(os.Getenv(faultOfTest)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		trace, capture := traceFiles()
		status, err := Run(context.Background(), Config{
			Trace: trace, Capture: capture,
			Args: os.Args[1:], Addresses: addressesOfTest(), IWARP: os.Args[0] == superviseIWARP, Faults: faults,
			Check: isChecked(), CheckStatus: map[string]int{superviseCheck: findingsStatus}[os.Args[0]], Log: logOfTest(),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 125
		}
		os.Exit(status)
	}
	if len(os.Args) > 2 && os.Args[1] == perform {
		if err := programs[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "program:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testmode.Hurry()
	os.Exit(m.Run())
}

func addressesOfTest() (all []netip.Addr) {
	for _, a := range strings.Fields(cmp.Or(os.Getenv(addressOfTest), "127.0.0.1")) {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

// isChecked reports whether this process is a supervisor that checks the program.
func isChecked() bool { return os.Args[0] == superviseCheck || os.Args[0] == superviseNote }

// logOfTest returns the log of a supervisor: nothing, unless it checks the program.
func logOfTest() *slog.Logger {
	if !isChecked() {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// under returns a command that runs a program under a supervisor.
func under(args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Args = append([]string{supervise}, args...)
	c.Stderr = os.Stderr
	return c
}

// pairTime is the maximum time for a program or two under supervisors. Most take less than a
// second.
const pairTime = 2 * time.Minute

// abortLate sends SIGABRT to supervisors that still run after a time: they print their stacks, and
// their programs end with them. The caller calls over when the supervisors have ended. It reports
// whether they were sent the signal.
func abortLate(t testing.TB, limit time.Duration, started ...*exec.Cmd) (over func() bool) {
	stuck := time.AfterFunc(limit, func() {
		for _, c := range started {
			t.Errorf("%q has not ended after %v", c.Args, limit)
			_ = c.Process.Signal(syscall.SIGABRT) // or this one has ended
		}
	})
	return func() bool { return !stuck.Stop() }
}

// performance returns the command line of one of the test programs.
func performance(t testing.TB, name string, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, perform, name}, args...)
}

// programs are the test programs that run under a supervisor.
var programs = map[string]func(args []string) error{
	"pair": pairProgram, "leak": leakProgram, "unused": unusedProgram, "abuse": abuseProgram, "duplicate": duplicateProgram, "device": deviceProgram,
	"connect": connectProgram, "refusal": refusalProgram, "errno": errnoProgram, "event-nowhere": eventNowhereProgram, "abuse-cm": abuseCMProgram, "killed": killedProgram,
	"bereaved": bereavedProgram, "interrupt": interruptProgram, "leak-cm": leakCMProgram, "rebind": rebindProgram,
	"share": shareProgram, "stranger": strangerProgram, "immediate": immediateProgram, "datagrams": datagramsProgram, "race": raceProgram, "crowd": crowdProgram,
}

// pages returns n bytes of memory outside the Go heap.
func pages(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// A joined is a program whose queue pair is connected to that of another program.
type joined struct {
	*guest.Context
	cq      *guest.CQ
	mr      guest.MR
	qp      *guest.QP
	peer    guest.MR // without B
	in      *bufio.Reader
	channel int
}

// tell sends a line to the other program, and hear receives one.
func tell(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (j *joined) hear(want string) error {
	line, err := j.in.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != want {
		err = fmt.Errorf("the other program says %q, not %q", line, want)
	}
	return err
}

const bufferLen = 4 << 20

func join() (*joined, error) {
	var err error
	j := &joined{in: bufio.NewReader(os.Stdin)}
	if j.Context, err = guest.OpenDevice(); err != nil {
		return nil, err
	}
	pd, err := j.PD()
	if err != nil {
		return nil, err
	}
	memory, err := pages(bufferLen)
	if err != nil {
		return nil, err
	}
	if j.mr, err = j.Register(pd, memory, guest.All); err != nil {
		return nil, err
	}
	if j.channel, err = j.Channel(); err != nil {
		return nil, err
	}
	if j.cq, err = j.CQ(100, j.channel, 7); err != nil {
		return nil, err
	}
	if j.qp, err = j.QP(guest.QPConfig{PD: pd, Send: j.cq, Recv: j.cq, Depth: 50, SGEs: 1, Inline: 64}); err != nil {
		return nil, err
	}
	gid, err := os.ReadFile("/sys/class/infiniband/" + DeviceName + "/ports/1/gids/0")
	if err != nil {
		return nil, err
	}
	tell("%s %d %d %d", strings.TrimSpace(string(gid)), j.qp.Num, j.mr.Key, j.mr.Addr)
	line, err := j.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	var theirs string
	var qpn uint32
	if _, err := fmt.Sscan(line, &theirs, &qpn, &j.peer.Key, &j.peer.Addr); err != nil {
		return nil, err
	}
	b, err := hex.DecodeString(strings.ReplaceAll(theirs, ":", ""))
	if err != nil {
		return nil, err
	}
	return j, j.qp.Join([16]byte(b), qpn)
}

// next waits for a completion.
func next(q *guest.CQ) (w guest.WC) {
	until(func() (ok bool) { w, ok = q.Poll(); return ok })
	return w
}

// until waits, in a program.
func until(done func() bool) {
	for !done() {
		time.Sleep(50 * time.Microsecond)
	}
}

// poll waits for a completion, which must have the ID and no error.
func (j *joined) poll(id uint64) error {
	w := next(j.cq)
	if w.ID != id || w.Status != 0 {
		return fmt.Errorf("completion %d with status %d, want %d", w.ID, w.Status, id)
	}
	return nil
}

// pairProgram is one of two programs: the first writes and reads the memory of the second, which
// then waits for an event and receives a Send.
func pairProgram(args []string) error {
	j, err := join()
	if err != nil {
		return err
	}
	pattern := func(seed byte) []byte {
		b := make([]byte, bufferLen/2)
		for i := range b {
			b[i] = seed + byte(i)*3 + byte(i>>10)
		}
		return b
	}
	if args[0] == "second" {
		j.qp.PostRecv(9, j.mr.Part(bufferLen/2, 1000))
		if err := j.Arm(j.cq, 0); err != nil {
			return err
		}
		copy(j.mr.B, pattern(1))
		tell("ready")
		event := make([]byte, 8)
		if _, err := unix.Read(j.channel, event); err != nil || event[0] != 7 {
			return fmt.Errorf("event %x, %v", event, err)
		}
		if err := j.poll(9); err != nil {
			return err
		}
		if !bytes.Equal(j.mr.B[:bufferLen/2], pattern(2)) || string(j.mr.B[bufferLen/2:][:5]) != "hello" {
			return errors.New("the wrong bytes have arrived")
		}
		tell("done")
		return j.hear("done")
	}
	if err := j.hear("ready"); err != nil {
		return err
	}
	remote := guest.WR{ID: 1, Op: guest.OpRead, Flags: guest.Signaled, Remote: j.peer.Addr, Key: j.peer.Key, List: []guest.SGE{j.mr.Part(0, bufferLen/2)}}
	if err := errors.Join(j.qp.Post(remote), j.poll(1)); err != nil {
		return err
	}
	if !bytes.Equal(j.mr.B[:bufferLen/2], pattern(1)) {
		return errors.New("the wrong bytes were read")
	}
	copy(j.mr.B, pattern(2))
	remote.ID, remote.Op = 2, guest.OpWrite
	hello := guest.WR{ID: 3, Op: guest.OpSend, Flags: guest.Signaled | guest.Inline, Data: []byte("hello")}
	if err := errors.Join(j.qp.Post(remote), j.qp.Post(hello), j.poll(2), j.poll(3)); err != nil {
		return err
	}
	tell("done")
	return j.hear("done")
}

// startPair starts two programs whose standard streams are connected.
func startPair(t *testing.T, name string, args ...string) (first, second *exec.Cmd) {
	t.Helper()
	first, second = makePair(t, name, args...)
	for _, c := range []*exec.Cmd{first, second} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	return first, second
}

// makePair returns two programs whose standard streams are connected.
func makePair(t testing.TB, name string, args ...string) (first, second *exec.Cmd) {
	t.Helper()
	first, second = under(performance(t, name, append([]string{"first"}, args...)...)...), under(performance(t, name, append([]string{"second"}, args...)...)...)
	for _, x := range [][2]*exec.Cmd{{first, second}, {second, first}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		x[0].Stdout, x[1].Stdin = w, r
	}
	return first, second
}

func TestPair(t *testing.T) {
	first, second := startPair(t, "pair")
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Error(err)
	}
}

func TestExitStatus(t *testing.T) {
	for _, tt := range []struct {
		script string
		status int
		signal syscall.Signal
	}{
		{"exit 0", 0, 0}, {"exit 42", 42, 0}, {"kill -TERM $$", -1, syscall.SIGTERM}, {"kill -KILL $$", -1, syscall.SIGKILL},
		{"kill -SEGV $$", -1, syscall.SIGSEGV},
	} {
		err := under("sh", "-c", tt.script).Run()
		got := &exec.ExitError{}
		if tt.status == 0 {
			if err != nil {
				t.Errorf("%s: %v", tt.script, err)
			}
			continue
		}
		if !errors.As(err, &got) || got.ExitCode() != tt.status || tt.signal != 0 && got.Sys().(syscall.WaitStatus).Signal() != tt.signal {
			t.Errorf("%s: %v", tt.script, err)
		}
	}
}

// TestScriptWithoutShell: a script without a first line that names its shell is for /bin/sh, as
// other programs that start programs have it.
func TestScriptWithoutShell(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo \"$1,$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := under(script, "one", "and two").Output(); err != nil || string(got) != "one,and two\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestForeignProgram: a program for another processor is none for /bin/sh, which would take its
// first bytes for commands.
func TestForeignProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("\x7fELF\x02\x02\x01\x00\x00\necho shell\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := under(program)
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err == nil || !strings.Contains(out.String(), syscall.ENOEXEC.Error()) || strings.Contains(out.String(), "shell") {
		t.Errorf("%v, %q", err, out.String())
	}
}

// The supervisor cannot start a program that does not exist, or a supervisor.
func TestCannotStart(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	nested := filepath.Join(t.TempDir(), supervise)
	if err := os.Symlink(self, nested); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		desc, text string
		args       []string
	}{
		{"no program", "no such file", []string{"/no/such/program"}},
		{"a supervisor in a supervisor", "one rddp run cannot run inside another", []string{"sh", "-c", `exec -a "$0" "$1" true`, supervise, self}},
	} {
		c := under(tt.args...)
		if tt.desc != "no program" {
			c = under("bash", "-c", `exec -a "$0" "$1" true`, supervise, self)
		}
		var text bytes.Buffer
		c.Stderr = &text
		if err := c.Run(); err == nil || !strings.Contains(text.String(), tt.text) {
			t.Errorf("%s: %v, %q", tt.desc, err, text.String())
		}
	}
}

// If a signal, for example to the process group, ends the program before it begins, it ends the
// supervisor too.
func TestEndedBeforeItBegan(t *testing.T) {
	c := under("true")
	c.Env = append(os.Environ(), endsStage+"=1")
	err := c.Run()
	if got := (*exec.ExitError)(nil); !errors.As(err, &got) || got.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the supervisor: %v", err)
	}
}

// When the supervisor is killed, its program ends, and the program's peers do not hang. The next
// supervisor removes its files, but not the files of running supervisors.
func TestSupervisorKilled(t *testing.T) {
	folder := t.TempDir()
	env := append(os.Environ(), "TMPDIR="+folder)
	next := func(desc string, want int) {
		t.Helper()
		c := under("true")
		c.Env = env
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != want {
			t.Errorf("%s: %d folders are left, want %d; %v", desc, len(left), want, err)
		}
	}
	c := under("sh", "-c", "echo $$; exec sleep 1000")
	c.Env = env
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	next("while it runs", 1)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	awaitEnd(t, fd)
	next("after it", 0)
}

// deviceProgram inspects the device like a tool.
func deviceProgram([]string) error {
	for path, want := range map[string]string{
		"/sys/class/infiniband":                              DeviceName,
		"/sys/class/infiniband_verbs":                        "abi_version uverbs0",
		"/sys/class/infiniband/" + DeviceName + "/ports":     "1",
		"/sys/class/../class/infiniband/" + DeviceName + "/": "device fw_ver node_desc node_guid node_type ports subsystem sys_image_guid uevent",
		"/dev/infiniband":                                    "rdma_cm uverbs0",
	} {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			return fmt.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	if err := os.WriteFile("/sys/class/infiniband/"+DeviceName+"/node_desc", []byte("x"), 0); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("writing node_desc: %v", err)
	}
	if _, err := os.Stat("/sys/class/infiniband/mlx5_0"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("a device that is not there: %v", err)
	}
	if err := unix.Access("/dev/infiniband/uverbs0", unix.R_OK|unix.W_OK); err != nil {
		return err
	}
	// Other files are unchanged.
	b, err := os.ReadFile("/proc/self/comm")
	if err != nil || len(b) == 0 {
		return fmt.Errorf("another file: %q, %v", b, err)
	}
	if _, err := os.Stat("/sys/class/net"); err != nil {
		return err
	}
	return nil
}

func TestDeviceFiles(t *testing.T) {
	if err := under(performance(t, "device")...).Run(); err != nil {
		t.Error(err)
	}
}

// leakProgram opens and closes the device many times.
func leakProgram(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	parent := supervisorPID()
	count := func() int {
		all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", parent))
		return len(all)
	}
	before := count()
	for range n {
		f, err := guest.OpenFile()
		if err != nil {
			return err
		}
		c, err := guest.Open(f)
		if err != nil {
			return err
		}
		pd, err := c.PD()
		if err != nil {
			return err
		}
		cq, err := c.CQ(10, -1, 1)
		if err != nil {
			return err
		}
		if _, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 10, SGEs: 1}); err != nil {
			return err
		}
		for range 2 { // the second channel has the number of the first, which still has a CQ
			channel, err := c.Channel()
			if err != nil {
				return err
			}
			if _, err := c.CQ(10, channel, 2); err != nil {
				return err
			}
			if err := unix.Close(channel); err != nil {
				return err
			}
		}
		if err := errors.Join(f.Close(), unix.Close(c.AsyncFD)); err != nil {
			return err
		}
	}
	// The supervisor notices a close a moment later.
	until(func() bool { return count() <= before })
	return nil
}

// unusedProgram opens and closes the device many times without using it.
func unusedProgram(args []string) error {
	parent := supervisorPID()
	count := func() int {
		all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", parent))
		return len(all)
	}
	open := func() error {
		f, err := guest.OpenFile()
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err := open(); err != nil {
		return err
	}
	before := count()
	for range 100 {
		if err := open(); err != nil {
			return err
		}
	}
	// The supervisor notices a close a moment later.
	until(func() bool { return count() <= before })
	return nil
}

func TestOpenUnused(t *testing.T) {
	if err := under(performance(t, "unused")...).Run(); err != nil {
		t.Error(err)
	}
}

func TestOpenAndClose(t *testing.T) {
	n := testmode.Count(10_000, 300)
	if testing.Short() {
		n = 30
	}
	if err := under(performance(t, "leak", strconv.Itoa(n))...).Run(); err != nil {
		t.Error(err)
	}
}

// duplicateProgram uses duplicates of the device's descriptor, also in a child.
func duplicateProgram(args []string) error {
	if len(args) > 0 { // the child has the device as descriptor 3
		_, err := guest.Open(&guest.File{FD: 3})
		if !errors.Is(err, syscall.EINVAL) { // the file already has a context
			return fmt.Errorf("the child's command: %v", err)
		}
		_, _, err = (&guest.File{FD: 3}).Do(3, make([]byte, 8), nil, 4, 0)
		return err
	}
	f, err := guest.OpenFile()
	if err != nil {
		return err
	}
	if _, err := guest.Open(f); err != nil {
		return err
	}
	low, err := unix.Dup(f.FD)
	if err != nil {
		return err
	}
	if _, _, err := (&guest.File{FD: low}).Do(3, make([]byte, 8), nil, 4, 0); err != nil {
		return fmt.Errorf("by a duplicate: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, perform, "duplicate", "child")
	c.ExtraFiles, c.Stderr = []*os.File{os.NewFile(uintptr(low), "device")}, os.Stderr
	return c.Run()
}

func TestDuplicate(t *testing.T) {
	if err := under(performance(t, "duplicate")...).Run(); err != nil {
		t.Error(err)
	}
}

// abuseProgram sends nonsensical commands and scribbles in its rings.
func abuseProgram(args []string) error {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	return abuse(seed)
}

func TestAbuse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var text bytes.Buffer
	c := under(performance(t, "abuse", fmt.Sprint(seed))...)
	c.Stderr = &text
	if err := c.Run(); err != nil {
		t.Errorf("%v: %s", err, text.String())
	}
	_, _ = io.Copy(os.Stderr, &text)
}
