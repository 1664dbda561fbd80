//go:build interop

package interop

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These tests run an unchanged program of rdma-core or perftest at each end: one over siw in the
// guest, and one on the host under rddp run --iwarp, as a user without privilege.

const (
	supervisedPort  = 7600
	joinedPort      = 61440 | supervisedPort&4095 // where rddp run without --iwarp listens: see docs/run.md
	supervisedLimit = time.Minute                 // longest run of a pair of programs
)

// connectedPrograms are pairs of programs: one listens, and the other connects. The two arguments
// of each line are the address and the port.
//
// At its end perftest measures the processor's frequency. On a busy machine that may fail if
// perftest is preempted between two readings of the clocks. Then perftest reports 0 MB/s with -F,
// and fails without it.
var connectedPrograms = []struct{ desc, listen, connect string }{
	{"rping", "rping -s -a %s -p %s -C 20 -S 4000 -V", "rping -c -a %s -p %s -C 20 -S 4000 -V -v"},
	{"ib_write_bw", "ib_write_bw -F -R -p %[2]s -n 100 -s 65536", "ib_write_bw -F -R %s -p %s -n 100 -s 65536"},
	{"rstream", "rstream -b %s -p %s -S 4096 -C 50 -T v", "rstream -s %s -p %s -S 4096 -C 50 -T v"},
}

// A supervised is a program under rddp run on the host.
type supervised struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when rddp run has ended

	mu   sync.Mutex
	cond *sync.Cond
	text strings.Builder // output of the program and of rddp run; guarded by mu
	over bool            // the output has ended; guarded by mu
}

// supervise starts a program under rddp run --iwarp, and kills it when t ends.
func supervise(t testing.TB, line string) *supervised { return superviseAs(t, "--iwarp", line) }

// superviseAs starts a program under rddp run with options, and kills it when t ends.
func superviseAs(t testing.TB, options, line string) *supervised {
	t.Helper()
	rddp := rddpBinary(t)
	s := &supervised{done: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	s.cmd = exec.Command(rddp, strings.Fields("run -v --address 127.0.0.1 "+options+" "+line)...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		if err := os.Chmod(filepath.Dir(rddp), 0o755); err != nil {
			t.Fatal(err)
		}
		s.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	err = s.cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	go s.listen(r)
	go func() {
		_ = s.cmd.Wait() // its status is in cmd
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.done
	})
	return s
}

// listen collects the output until all processes that hold the other end of r have ended.
func (s *supervised) listen(r io.ReadCloser) {
	defer r.Close()
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		s.mu.Lock()
		s.text.WriteString(line)
		s.over = s.over || err != nil
		over := s.over
		s.cond.Broadcast()
		s.mu.Unlock()
		if over {
			return
		}
	}
}

// said waits for the end, and returns the whole output.
func (s *supervised) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over {
		s.cond.Wait()
	}
	return s.text.String()
}

// says waits until the output contains want. It returns false if the output ends first.
func (s *supervised) says(want string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over && !strings.Contains(s.text.String(), want) {
		s.cond.Wait()
	}
	return strings.Contains(s.text.String(), want)
}

// wait waits for the end and returns the exit status, -1 if a signal, or ctx, has ended it.
func (s *supervised) wait(ctx context.Context) int {
	select {
	case <-s.done:
	case <-ctx.Done():
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	return s.cmd.ProcessState.ExitCode()
}

// startGuest starts a program in the guest.
func startGuest(t testing.TB, ctx context.Context, g *Guest, line string) *Process {
	t.Helper()
	p, err := g.StartProcess(ctx, strings.Fields(line)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// text waits for the end of p, and returns its whole output.
func text(p *Process) string {
	a, _ := io.ReadAll(p.Stdout)
	b, _ := io.ReadAll(p.Stderr)
	return string(a) + string(b)
}

// superviseGuest returns the shared guest, in which siw can handle FPDUs that the NAT has split.
func superviseGuest(t testing.TB) *Guest {
	g := Start(t)
	g.SetSiw(t, "fix_split_trailer=1") // siw's fault "split trailer"
	return g
}

// An encounter is a program of the guest and one of the host that talk to each other.
type encounter struct {
	host *supervised
	siw  *Process
}

// meet starts the listening program at one end, and then the connecting one at the other end.
func meet(t *testing.T, ctx context.Context, g *Guest, siwListens bool, listen, connect string) *encounter {
	t.Helper()
	e := new(encounter)
	if siwListens {
		e.siw = startGuest(t, ctx, g, fmt.Sprintf(listen, GuestIP, fmt.Sprint(supervisedPort)))
		g.AwaitListener(t, supervisedPort)
		host, port, err := net.SplitHostPort(g.Forward(t, supervisedPort))
		if err != nil {
			t.Fatal(err)
		}
		e.host = supervise(t, fmt.Sprintf(connect, host, port))
		return e
	}
	port := freePort(t)
	e.host = supervise(t, fmt.Sprintf(listen, "127.0.0.1", port))
	awaitHostListener(t, ctx, port)
	e.siw = startGuest(t, ctx, g, fmt.Sprintf(connect, HostIP, port))
	return e
}

// eachRole runs f with siw as the listening end, and as the connecting end.
func eachRole(t *testing.T, f func(t *testing.T, siwListens bool)) {
	t.Run("siw listens", func(t *testing.T) { f(t, true) })
	t.Run("siw connects", func(t *testing.T) { f(t, false) })
}

// Programs under rddp run and programs over siw work with each other and succeed.
func TestSupervisedPrograms(t *testing.T) {
	for _, tt := range connectedPrograms {
		t.Run(tt.desc, func(t *testing.T) {
			eachRole(t, func(t *testing.T, siwListens bool) {
				g := superviseGuest(t) // this may be slow on a busy machine
				ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
				defer cancel()
				wasReset := func() bool { return false }
				if tt.desc == "rstream" {
					wasReset = watchResets(t, g)
				}
				e := meet(t, ctx, g, siwListens, tt.listen, tt.connect)
				for e.late(ctx) {
					e = meet(t, ctx, Start(t), siwListens, tt.listen, tt.connect)
				}
				code := e.host.wait(ctx)
				if code != 0 {
					e.siw.Kill()
				}
				siwCode, err := e.siw.Wait()
				siwSaid := text(e.siw)
				if wasReset() && siwListens && siwCode == 0 && code != 0 {
					t.Log("siw's fault \"Unread\": it has reset the connection that its program has closed, and its last data is lost")
					return
				}
				if code != 0 || siwCode != 0 && !strings.Contains(siwSaid, closedEarly) || err != nil {
					t.Errorf("exit status %d on the host, %d, %v over siw\nhost:\n%s\nsiw:\n%s", code, siwCode, err, e.host.said(), siwSaid)
				}
				// rping's client ends with 0 even if the connection ends too early.
				if said := e.host.said() + siwSaid; tt.desc == "rping" && strings.Count(said, "ping data: rdma-ping-") != 20 {
					t.Errorf("not 20 pings:\n%s", said)
				}
			})
		})
	}
}

// watchResets captures the guest's packets. The returned function reports whether they contain a
// reset of siw.
func watchResets(t *testing.T, g *Guest) (wasReset func() bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pcap")
	stop := g.Capture(t, "eth0", file)
	return func() bool {
		t.Helper()
		stop()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const (
			sourcePort = tcpDestPort - 2
			flags      = tcpDestPort + 11
			reset      = 1 << 2
		)
		for b = b[min(pcapHeader, len(b)):]; len(b) > recordHeader; {
			n := recordHeader + int(binary.LittleEndian.Uint32(b[8:]))
			p := b[recordHeader:min(n, len(b))]
			if len(p) > flags && binary.BigEndian.Uint16(p[sourcePort:]) == supervisedPort && p[flags]&reset != 0 {
				return true
			}
			b = b[min(n, len(b)):]
		}
		return false
	}
}

// closedEarly is perftest's message if siw fails its last Send, although siw has sent it and the
// peer has received it and closed: siw's fault "last Send" in README.md. The message continues with
// "to socket/rdma_cm" or "from socket/rdma_cm"; both were seen.
const closedEarly = "Bad wc status 2\n Unable to write "

// late reports whether the guest was too slow for perftest. If so, it ends both programs. With -R,
// perftest's client connects a second time one second after the first, and fails if the server does
// not listen again by then.
func (e *encounter) late(ctx context.Context) bool {
	if e.host.wait(ctx) == 0 || !strings.Contains(e.host.said(), "RDMA_CM_EVENT_REJECTED") || ctx.Err() != nil {
		return false
	}
	e.siw.Kill()
	return true
}

// The peer of a killed program learns of it. rping over siw may not end then, since siw may not
// flush its receives (README.md, "Close").
func TestSupervisedProgramKilled(t *testing.T) {
	const learned = "DISCONNECT EVENT"
	for _, tt := range []struct {
		desc  string
		kill  func(t *testing.T, e *encounter)
		learn func(e *encounter) bool
	}{
		{"over siw", func(_ *testing.T, e *encounter) { e.siw.Kill() }, func(e *encounter) bool { return strings.Contains(e.host.said(), learned) }},
		{"under rddp run", func(t *testing.T, e *encounter) { killProgram(t, e.host) }, func(e *encounter) bool { return says(e.siw.Stderr, learned) }},
		{"rddp run", func(t *testing.T, e *encounter) { _ = e.host.cmd.Process.Kill() }, func(e *encounter) bool { return says(e.siw.Stderr, learned) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			eachRole(t, func(t *testing.T, siwListens bool) {
				g := superviseGuest(t)
				ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
				defer cancel()
				e := meet(t, ctx, g, siwListens, "rping -s -a %s -p %s -S 4000 -V -v", "rping -c -a %s -p %s -S 4000 -V -v")
				if !e.host.says("ping data: rdma-ping-9") {
					e.siw.Kill()
					t.Fatalf("the programs do not meet:\n%s\n%s", e.host.said(), text(e.siw))
				}
				tt.kill(t, e)
				if !tt.learn(e) {
					t.Error("the other end has not learned of it")
				}
				e.host.wait(ctx)
				e.siw.Kill()
			})
		})
	}
}

// says reads until want appears. It returns false if r ends first.
func says(r io.Reader, want string) bool {
	for s := bufio.NewScanner(r); s.Scan(); {
		if strings.Contains(s.Text(), want) {
			return true
		}
	}
	return false
}

// A program whose peer is killed while it writes gets the error of its work requests.
func TestSupervisedWriterFails(t *testing.T) {
	g := superviseGuest(t)
	ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
	defer cancel()
	received := func() (n int) {
		t.Helper()
		if _, err := fmt.Sscan(g.MustRun(t, "cat", "/sys/class/net/eth0/statistics/rx_bytes").Stdout, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// flow waits until the Writes arrive. It returns false if the program ends instead.
	flow := func(e *encounter) bool {
		for before := received(); received() < before+4<<20; {
			select {
			case <-e.host.done:
				return false
			default:
			}
		}
		return true
	}
	const listen, connect = "ib_write_bw -R -p %[2]s -n 5000000 -s 65536", "ib_write_bw -R %s -p %s -n 5000000 -s 65536"
	e := meet(t, ctx, g, true, listen, connect)
	for !flow(e) {
		if !e.late(ctx) {
			e.siw.Kill()
			t.Fatalf("the programs do not meet:\n%s\n%s", e.host.said(), text(e.siw))
		}
		e = meet(t, ctx, g, true, listen, connect)
	}
	e.siw.Kill()
	if code := e.host.wait(ctx); code <= 0 || !strings.Contains(e.host.said(), "Completion with error") {
		t.Errorf("exit status %d\n%s", code, e.host.said())
	}
}

// killProgram kills the program under s, which is the only child of rddp run.
func killProgram(t testing.TB, s *supervised) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lists {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		var pid int
		if _, err := fmt.Sscan(string(b), &pid); err == nil {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("rddp run has no child")
}
