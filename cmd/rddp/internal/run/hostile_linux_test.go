//go:build amd64 || arm64

package run

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

func init() {
	programs["stopped"], programs["hostile"], programs["steps"], programs["company"] = stoppedProgram, hostileProgram, stepsProgram, companyProgram
	programs["children"] = childrenProgram
}

// do posts a work request for the first n bytes of the memory at both ends, and returns the status
// of its completion.
func (j *joined) do(op uint32, n int) (uverbs.WCStatus, error) {
	w := guest.WR{ID: 5, Op: op, Flags: guest.Signaled, Remote: j.peer.Addr, Key: j.peer.Key, Operand: 3, List: []guest.SGE{j.mr.Part(0, n)}}
	if err := j.qp.Post(w); err != nil {
		return 0, err
	}
	return uverbs.WCStatus(next(j.cq).Status), nil
}

// succeeds is do of a work request that must succeed.
func (j *joined) succeeds(op uint32, n int) error {
	if s, err := j.do(op, n); err != nil || s != uverbs.Success {
		return fmt.Errorf("operation %d: %v, %w", op, s, err)
	}
	return nil
}

// stoppedProgram is one of two programs: the second stops itself, and the first uses its memory
// while it is stopped.
func stoppedProgram(args []string) error {
	j, err := join()
	if err != nil {
		return err
	}
	if args[0] == "second" {
		binary.NativeEndian.PutUint64(j.mr.B, 39)
		tell("%d", os.Getpid())
		if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
			return err
		}
		if err := j.hear("done"); err != nil {
			return err
		}
		if got := binary.NativeEndian.Uint64(j.mr.B); got != 42 {
			return fmt.Errorf("the word is %d, want 42", got)
		}
		tell("done")
		return nil
	}
	line, err := j.in.ReadString('\n')
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	isStopped := func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := bytes.Cut(b, []byte(") "))
		return bytes.HasPrefix(state, []byte("T"))
	}
	until(isStopped)
	if err := j.succeeds(guest.OpRead, 8); err != nil {
		return err
	}
	if got := binary.NativeEndian.Uint64(j.mr.B); got != 39 {
		return fmt.Errorf("read %d, want 39", got)
	}
	if err := errors.Join(j.succeeds(guest.OpWrite, 8), j.succeeds(guest.OpFetchAdd, 8)); err != nil {
		return err
	}
	if !isStopped() {
		return errors.New("the peer has run meanwhile")
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		return err
	}
	tell("done")
	return j.hear("done")
}

// TestStoppedProgram checks that the device serves the peers of a program that is stopped.
func TestStoppedProgram(t *testing.T) {
	first, second := startPair(t, "stopped")
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Error(err)
	}
}

// hostileProgram is one of two programs: the first writes all the time, while the second unmaps its
// memory, forks, or executes another program.
func hostileProgram(args []string) error {
	j, err := join()
	if err != nil {
		return err
	}
	what := args[1]
	if args[0] == "second" {
		if err := j.hear("writing"); err != nil {
			return err
		}
		switch what {
		case "unmap", "protect":
			if what == "unmap" {
				err = unix.Munmap(j.mr.B)
			} else {
				err = unix.Mprotect(j.mr.B, unix.PROT_READ)
			}
			if err != nil {
				return err
			}
			tell("now")
			if err := j.hear("failed"); err != nil {
				return err
			}
			return deviceProgram(nil) // the device serves others, and this program
		case "fork":
			self, err := os.Executable()
			if err != nil {
				return err
			}
			c := exec.Command(self, perform, "device")
			c.Stderr = os.Stderr
			if err := c.Run(); err != nil {
				return err
			}
			tell("now")
			return j.hear("succeeded")
		case "exec":
			tell("now")
			return unix.Exec("/bin/sh", []string{"sh", "-c", "read line"}, os.Environ())
		}
		return fmt.Errorf("%q is not known", what)
	}
	said := make(chan error, 1)
	if err := j.succeeds(guest.OpWrite, bufferLen/2); err != nil {
		return err
	}
	tell("writing")
	go func() { said <- j.hear("now") }()
	for now := false; ; {
		s, err := j.do(guest.OpWrite, bufferLen/2)
		if err != nil {
			return err
		}
		if s != uverbs.Success {
			tell("failed")
			want := uverbs.RemoteAccessErr
			if what == "exec" { // the program's end, as a peer sees it
				want = uverbs.RetryExceeded
			}
			if s != want && !(what == "exec" && s == uverbs.RemoteAccessErr) || what == "fork" {
				return fmt.Errorf("a Write has ended with %v, want %v", s, want)
			}
			return nil
		}
		if now && what == "fork" {
			tell("succeeded")
			return nil
		}
		select {
		case err := <-said:
			if err != nil {
				return err
			}
			now = true
		default:
		}
	}
}

func TestHostileProgram(t *testing.T) {
	for _, what := range []string{"unmap", "protect", "fork", "exec"} {
		t.Run(what, func(t *testing.T) {
			first, second := startPair(t, "hostile", what)
			if err := errors.Join(first.Wait(), second.Wait()); err != nil {
				t.Error(err)
			}
		})
	}
}

// stepsProgram runs a session and stops at one of its steps.
func stepsProgram(args []string) error {
	at, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	n := 0
	step := func() {
		if n++; n == at {
			tell("here")
			select {}
		}
	}
	step()
	f, err := guest.OpenFile()
	if err != nil {
		return err
	}
	step()
	c, err := guest.Open(f)
	if err != nil {
		return err
	}
	step()
	pd, err := c.PD()
	if err != nil {
		return err
	}
	step()
	memory, err := pages(bufferLen)
	if err != nil {
		return err
	}
	mr, err := c.Register(pd, memory, guest.All)
	if err != nil {
		return err
	}
	step()
	cq, err := c.CQ(100, -1, 7)
	if err != nil {
		return err
	}
	step()
	var q [2]*guest.QP
	for k := range q {
		if q[k], err = c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 50, SGEs: 1}); err != nil {
			return err
		}
		step()
	}
	gid := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	for k := range q {
		for _, state := range []uint8{guest.Init, guest.RTR, guest.RTS} {
			if err := q[k].Modify(state, gid, q[1-k].Num, nil); err != nil {
				return err
			}
			step()
		}
	}
	q[1].PostRecv(1, mr.Part(0, 100))
	step()
	for id, op := range []uint32{guest.OpSend, guest.OpWrite, guest.OpRead, guest.OpFetchAdd} {
		w := guest.WR{ID: uint64(id), Op: op, Flags: guest.Signaled, Remote: mr.Addr, Key: mr.Key, List: []guest.SGE{mr.Part(bufferLen/2, 8)}}
		if err := q[0].Post(w); err != nil {
			return err
		}
		step() // with work requests outstanding
	}
	for range 5 {
		if w := next(cq); w.Status != 0 {
			return fmt.Errorf("completion %d with %v", w.ID, uverbs.WCStatus(w.Status))
		}
	}
	step()
	if _, err := c.Destroy(27, q[0].Handle); err != nil {
		return err
	}
	step()
	if err := errors.Join(f.Close(), unix.Close(c.AsyncFD)); err != nil {
		return err
	}
	step()
	tell("end")
	return nil
}

// TestKilledAtEachStep kills the program, and in another run its supervisor, at each step of a
// session. The supervisor ends by the same signal as the program, and the program ends with its
// supervisor.
func TestKilledAtEachStep(t *testing.T) {
	for at := 1; ; at++ {
		for _, victim := range []string{"program", "supervisor"} {
			c := under("sh", "-c", `echo $$; exec "$0" "$@"`)
			c.Args = append(c.Args, performance(t, "steps", strconv.Itoa(at))...)
			c.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a supervisor that is killed can't remove its files
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			var said [2]string
			for k := range said {
				if said[k], err = lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if said[1] == "end\n" {
				if err := c.Wait(); err != nil || at < 20 {
					t.Errorf("the session has %d steps, %v", at-1, err)
				}
				return
			}
			pid, err := strconv.Atoi(strings.TrimSpace(said[0]))
			if err != nil {
				t.Fatal(err)
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			if victim == "program" {
				err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			} else {
				err = c.Process.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
			killed := &exec.ExitError{}
			if err := c.Wait(); !errors.As(err, &killed) || killed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Errorf("step %d, the %s is killed: the supervisor ends with %v", at, victim, err)
			}
			awaitEnd(t, fd)
			unix.Close(fd)
		}
	}
}

// awaitEnd waits until the process of a pidfd has ended.
func awaitEnd(t *testing.T, fd int) {
	t.Helper()
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(p, -1); n == 1 {
			return
		} else if err != nil && !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
	}
}

// companyProgram scribbles in the rings of one queue pair. Meanwhile, a child under the same
// supervisor uses another queue pair, which must not be affected.
func companyProgram(args []string) error {
	if args[0] == "child" {
		return steadyProgram()
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, perform, "company", "child")
	child.Stderr = os.Stderr
	stop, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // the child works
		return errors.Join(err, child.Wait())
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for done := 0; done < rounds; {
		n, err := scribbleSession(random, min(rounds-done, 1000))
		if err != nil {
			return err
		}
		done += n
	}
	return errors.Join(stop.Close(), child.Wait())
}

// scribbleSession opens the device, scribbles n times, and closes it.
func scribbleSession(random *rand.Rand, n int) (int, error) {
	f, err := guest.OpenFile()
	if err != nil {
		return 0, err
	}
	c, err := guest.Open(f)
	if err != nil {
		return 0, err
	}
	a, err := newLoop(c)
	if err != nil {
		return 0, err
	}
	for range n {
		for _, b := range [][]byte{a.q[0].SQ.Bytes(), a.q[1].RQ.Bytes(), a.cq.Bytes()} {
			at := random.IntN(len(b))
			if random.IntN(2) == 0 {
				at = random.IntN(min(len(b), 1200)) // the indices, and the first entries
			}
			b[at] = byte(random.Uint32())
		}
		_ = a.q[0].Post(guest.WR{ID: random.Uint64(), Op: random.Uint32N(12), Flags: random.Uint32N(16), List: []guest.SGE{a.mr.Part(0, 100)}})
	}
	return n, errors.Join(f.Close(), unix.Close(c.AsyncFD))
}

// A loop is a program with two queue pairs that are joined with each other.
type loop struct {
	cq *guest.CQ
	mr guest.MR
	q  [2]*guest.QP
}

func newLoop(c *guest.Context) (*loop, error) {
	pd, err := c.PD()
	if err != nil {
		return nil, err
	}
	memory, err := pages(1 << 16)
	if err != nil {
		return nil, err
	}
	l := &loop{}
	if l.mr, err = c.Register(pd, memory, guest.All); err != nil {
		return nil, err
	}
	if l.cq, err = c.CQ(64, -1, 1); err != nil {
		return nil, err
	}
	for k := range l.q {
		if l.q[k], err = c.QP(guest.QPConfig{PD: pd, Send: l.cq, Recv: l.cq, Depth: 16, SGEs: 2}); err != nil {
			return nil, err
		}
	}
	gid := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	return l, errors.Join(l.q[0].Join(gid, l.q[1].Num), l.q[1].Join(gid, l.q[0].Num))
}

// steadyProgram sends, writes and reads until its standard input ends, and checks each byte and
// each completion.
func steadyProgram() error {
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	l, err := newLoop(c)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		ended <- err
	}()
	const n = 5000
	from, to := l.mr.B[:n], l.mr.B[2*n:3*n]
	for id := uint64(0); ; id++ {
		for i := range from {
			from[i] = byte(id) + byte(i)
		}
		w := guest.WR{ID: id, Op: guest.OpWrite, Flags: guest.Signaled, List: []guest.SGE{l.mr.Part(0, n)}, Remote: l.mr.Addr + 2*n, Key: l.mr.Key}
		switch id % 3 {
		case 1:
			w.Op = guest.OpSend
			l.q[1].PostRecv(id, l.mr.Part(2*n, n))
		case 2:
			w.Op, w.Remote, w.List = guest.OpRead, l.mr.Addr, []guest.SGE{l.mr.Part(2*n, n)}
		}
		if err := l.q[0].Post(w); err != nil {
			return err
		}
		due := 1
		if w.Op == guest.OpSend {
			due = 2
		}
		for range due {
			if x := next(l.cq); x.ID != id || x.Status != 0 {
				return fmt.Errorf("a neighbor's scribbles: completion %d with %v, want %d", x.ID, uverbs.WCStatus(x.Status), id)
			}
		}
		if !bytes.Equal(from, to) {
			return fmt.Errorf("a neighbor's scribbles: wrong bytes in operation %d", id)
		}
		if id == 9 {
			tell("working")
		}
		select {
		case <-ended:
			return nil
		default:
		}
	}
}

// TestScribbles changes 1,000,000 bytes in each of the three rings, if built with the tag
// conformance.
func TestScribbles(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	n := testmode.Count(1_000_000, 10_000)
	if err := under(performance(t, "company", fmt.Sprint(seed), strconv.Itoa(n))...).Run(); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	t.Logf("%d scribbles in each ring, seed %d", n, seed)
}

// childrenProgram starts n children one after the other, and returns when the supervisor has as
// many descriptors as before.
func childrenProgram(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	parent := supervisorPID()
	count := func() int {
		all, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", parent))
		return len(all)
	}
	before := 0
	for i := range n + 1 {
		if i == 1 {
			before = count() // one child has been there
		}
		if err := exec.Command("/bin/true").Run(); err != nil {
			return err
		}
	}
	until(func() bool { return count() <= before })
	return nil
}

// TestManyChildren checks that 1,000 children that start and end leave nothing behind in the
// supervisor. The supervisor may close the descriptors for the last few a little later.
func TestManyChildren(t *testing.T) {
	if err := under(performance(t, "children", strconv.Itoa(testmode.Count(1000, 50)))...).Run(); err != nil {
		t.Error(err)
	}
}
