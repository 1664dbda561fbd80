package extsock_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// These tests measure what an idle connection costs. For each kind of connection there are two
// processes, so that nothing else is measured: one dials, one accepts. Each connection exchanges
// messages first, so that it has allocated everything that it allocates at its first use. Then both
// programs wait in Read.

// An idleKind is a kind of connection.
type idleKind string

const (
	idleTCP      idleKind = "tcp"
	idleStream   idleKind = "stream"
	idleMessages idleKind = "messages"
	// idleSparse is idleStream, but all pools are emptied before each connection is used for the
	// last time. This models messages that come so rarely that connections share no pooled memory.
	idleSparse idleKind = "sparse"
	// idleBurst is idleStream after Writes that have filled all queues.
	idleBurst idleKind = "burst"
)

// maxIdleOctets is how much memory in heap objects and stacks an idle connection in DDP mode may
// take beyond a TCP connection.
const maxIdleOctets = 20 << 10

// maxIdleObjects is how many heap objects an idle connection in DDP mode may have beyond those of a
// TCP connection.
const maxIdleObjects = 44

// idleOthers is the number of goroutines that do not belong to one connection: the Listener's, and
// the three that watch sockets.
const idleOthers = 4

// TestIdleConnections: an idle connection in DDP mode has little memory, and at most one goroutine
// besides the program's that waits in Read: none, if that Read receives, and not the home
// goroutine. The driver's TestHomeIsNoGoroutine checks that, where the time of a Read does not
// decide.
func TestIdleConnections(t *testing.T) {
	n, most := int64(testmode.Rounds(200, 50)), int64(maxIdleOctets)
	kinds := []idleKind{idleStream, idleMessages, idleSparse, idleBurst}
	if testmode.Race { // frames are larger, and pools forget on purpose
		most, kinds = most+8<<10, kinds[:2]
	}
	tcp := measureIdle(t, idleTCP, n)
	for i, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			k := n
			if i >= 2 {
				k = 50
			}
			own := measureIdle(t, kind, k)
			for i, end := range idleEnds {
				if own[i].Goroutines > 2*k+idleOthers {
					t.Errorf("%s: %d goroutines for %d connections", end, own[i].Goroutines, k)
				}
				beyond := own[i].memory()/k - tcp[i].memory()/n
				objects := own[i].Objects/k - tcp[i].Objects/n
				t.Logf("%s: %d octets per connection beyond TCP, %d objects; %d goroutines for %d", end, beyond, objects, own[i].Goroutines, k)
				if objects > maxIdleObjects {
					t.Errorf("%s: %d objects per connection beyond TCP, want at most %d", end, objects, maxIdleObjects)
				}
				if beyond > most {
					t.Errorf("%s: %d octets per connection beyond TCP, want at most %d", end, beyond, most)
				}
			}
		})
	}
}

// TestIdleKeepsNoMemory: an idle connection refers to no memory that a message was sent from or
// read into.
func TestIdleKeepsNoMemory(t *testing.T) {
	for _, kind := range []idleKind{idleStream, idleMessages} {
		for _, size := range []int{idleShort, idleLong} {
			t.Run(fmt.Sprintf("%s/size=%d", kind, size), func(t *testing.T) {
				a, b := kernelStreams(t)
				s := side{cfg: *idleJob{Kind: kind}.config()}
				ci, cr := switched(t, a, b, s, s)
				var memory []weak.Pointer[byte]
				fresh := func() []byte {
					p := make([]byte, size)
					memory = append(memory, weak.Make(&p[0]))
					return p
				}
				for _, way := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
					written := make(chan error, 1)
					go func() {
						_, err := way[0].Write(fresh())
						written <- err
					}()
					if err := <-written; err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(way[1], fresh()); err != nil {
						t.Fatal(err)
					}
				}
				prototest.Wait(t, "no buffer is kept", func() bool {
					runtime.GC()
					return !slices.ContainsFunc(memory, func(w weak.Pointer[byte]) bool { return w.Value() != nil })
				})
			})
		}
	}
}

// BenchmarkIdle measures 10,000 connections. The metrics are per connection, of the process that
// dials and of the one that accepts: octets that are resident, in use by the heap, by its live
// objects and by stacks, the number of these objects, and goroutines, the program's included.
func BenchmarkIdle(b *testing.B) {
	const n = 10_000
	for _, kind := range []idleKind{idleTCP, idleStream, idleMessages} {
		b.Run(string(kind), func(b *testing.B) {
			var total [2]idleFigures
			for b.Loop() {
				for i, f := range measureIdle(b, kind, n) {
					total[i].add(f, 1)
				}
			}
			for i, end := range idleEnds {
				per := func(x int64, unit string) {
					b.ReportMetric(float64(x)/float64(n)/float64(b.N), end+"-"+unit+"/conn")
				}
				per(total[i].RSS, "rss")
				per(total[i].Heap, "heap")
				per(total[i].Live, "live")
				per(total[i].Objects, "objects")
				per(total[i].Stack, "stack")
				per(total[i].Goroutines, "goroutines")
			}
		})
	}
}

// idleEnds names the two processes.
var idleEnds = [2]string{"dial", "accept"}

// idleFigures are what a process has, or what its connections have added to that.
type idleFigures struct {
	RSS         int64 // octets; 0 on a system that does not tell
	Heap, Stack int64 // octets in use; of the heap with what lies between objects
	Live        int64 // octets of the heap's objects
	Objects     int64 // their number
	Goroutines  int64
}

// memory returns the part that can be compared even for few connections; gaps in the heap differ
// from run to run.
func (f idleFigures) memory() int64 { return f.Live + f.Stack }

// add adds g to f, sign times.
func (f *idleFigures) add(g idleFigures, sign int64) {
	f.RSS += sign * g.RSS
	f.Heap += sign * g.Heap
	f.Stack += sign * g.Stack
	f.Live += sign * g.Live
	f.Objects += sign * g.Objects
	f.Goroutines += sign * g.Goroutines
}

// measureIdle returns what n idle connections have added to the process that dials and to the one
// that accepts.
func measureIdle(t testing.TB, kind idleKind, n int64) (figures [2]idleFigures) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), idleTimeout)
	defer cancel()
	accept := startIdlePeer(t, ctx, idleJob{Kind: kind, N: n})
	dial := startIdlePeer(t, ctx, idleJob{Kind: kind, N: n, Address: accept.line(t)})
	if s := dial.line(t); s != "idle" {
		t.Fatalf("the dialing process says %q", s)
	}
	for i, p := range []*idlePeer{dial, accept} {
		fmt.Fprintln(p.in, "measure")
		if err := json.Unmarshal([]byte(p.line(t)), &figures[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*idlePeer{dial, accept} { // neither before both have been measured
		p.in.Close()
		if err := p.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	return figures
}

// An idleJob says what a process must do. It is passed in the environment.
type idleJob struct {
	Kind    idleKind
	N       int64
	Address string // to dial; empty means to accept
}

// idleTimeout bounds a measurement.
const idleTimeout = 3 * time.Minute

const idlePeerEnv = "RDDP_IDLE_PEER"

// emulatorEnv names the program that runs this test binary for .ci/machine: the value of go test's
// -exec.
const emulatorEnv = "RDDP_EMULATOR"

// An idlePeer is one of the two processes.
type idlePeer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startIdlePeer runs this test binary as a process that does the job.
func startIdlePeer(t testing.TB, ctx context.Context, job idleJob) *idlePeer {
	t.Helper()
	env, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return startSelf(t, ctx, idlePeerEnv+"="+string(env))
}

// startSelf runs this test binary with more variables, one of which TestMain knows.
func startSelf(t testing.TB, ctx context.Context, env ...string) *idlePeer {
	t.Helper()
	return startPeer(t, selfCommand(ctx, env...))
}

// selfCommand is the command of startSelf.
func selfCommand(ctx context.Context, env ...string) *exec.Cmd {
	command := append(strings.Fields(os.Getenv(emulatorEnv)), os.Args[0])
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// startPeer runs a command that reads from its standard input, and writes lines.
func startPeer(t testing.TB, cmd *exec.Cmd) *idlePeer {
	t.Helper()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // if the test has failed half-way
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &idlePeer{cmd, in, bufio.NewReader(out)}
}

// line returns the next line of p's output.
func (p *idlePeer) line(t testing.TB) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process: %v", err)
	}
	return strings.TrimSpace(s)
}

// runIdlePeer is one of the two processes: it ends when its standard input does.
func runIdlePeer(env string) error {
	var job idleJob
	if err := json.Unmarshal([]byte(env), &job); err != nil {
		return err
	}
	if err := job.checkFileLimit(); err != nil {
		return err
	}
	time.AfterFunc(idleTimeout, func() { os.Exit(1) }) // the parent may be gone
	begin := figuresNow(int64(runtime.NumGoroutine()))
	use := job.dial
	if job.Address == "" {
		use = job.accept
	}
	if err := use(); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	f := figuresNow(begin.Goroutines + 2*job.N + idleOthers)
	f.add(begin, -1)
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// checkFileLimit returns a clear error if N connections need too many files. Go has raised the
// limit as far as it can.
func (j idleJob) checkFileLimit() error {
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return nil // another system: Dial or Accept will say
	}
	for line := range bytes.Lines(limits) {
		rest, ok := bytes.CutPrefix(line, []byte("Max open files"))
		if f := bytes.Fields(rest); ok && len(f) > 0 {
			if limit, err := strconv.ParseInt(string(f[0]), 10, 64); err == nil && limit < j.N+64 {
				return fmt.Errorf("%d connections in a process that may open %d files", j.N, limit)
			}
		}
	}
	return nil
}

// config returns the Config of both ends of the connections.
func (j idleJob) config() *extsock.Config {
	return &extsock.Config{Startup: extsock.StartupRequire, Messages: j.Kind == idleMessages}
}

// accept prints the listener's address and serves N connections, each in a goroutine.
func (j idleJob) accept() error {
	var l net.Listener
	var err error
	if j.Kind == idleTCP {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	} else {
		l, err = extsock.Listen("tcp", "127.0.0.1:0", j.config())
	}
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	for range j.N {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := j.exchange(c, readWrite); err != nil {
				fmt.Fprintln(os.Stderr, "idle peer:", err)
			}
			waitIdle(c)
		}()
	}
	return nil
}

// dial makes N connections, each with a goroutine, and reports when all are idle.
func (j idleJob) dial() error {
	used := make(chan error)
	for i := range j.N {
		var c net.Conn
		var err error
		if j.Kind == idleTCP {
			c, err = net.Dial("tcp", j.Address)
		} else {
			c, err = extsock.Dial("tcp", j.Address, j.config())
		}
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		go func() {
			used <- j.exchange(c, writeRead)
			waitIdle(c)
		}()
		if err := <-used; err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	fmt.Println("idle")
	return nil
}

// The messages that every connection exchanges: a long one, and enough short ones for a waiting
// reader to take the role of receiving.
const (
	idleRounds   = 8
	idleShort    = 64
	idleLong     = 16 << 10
	idleVeryLong = 4 << 20 // more than the buffers of the peer
)

// exchange uses c; turn is what this end does with each message.
func (j idleJob) exchange(c net.Conn, turn func(c net.Conn, p []byte) error) error {
	size := idleLong
	if j.Kind == idleBurst {
		size = idleVeryLong
	}
	if err := turn(c, make([]byte, size)); err != nil {
		return err
	}
	if j.Kind == idleSparse {
		runtime.GC() // a pool survives one
		runtime.GC()
	}
	p := make([]byte, idleShort)
	for range idleRounds {
		if err := turn(c, p); err != nil {
			return err
		}
	}
	return nil
}

func writeRead(c net.Conn, p []byte) error {
	if _, err := c.Write(p); err != nil {
		return err
	}
	_, err := io.ReadFull(c, p)
	return err
}

func readWrite(c net.Conn, p []byte) error {
	if _, err := io.ReadFull(c, p); err != nil {
		return err
	}
	_, err := c.Write(p)
	return err
}

// waitIdle waits as a program does for what its peer may send one day.
func waitIdle(c net.Conn) {
	defer c.Close()
	c.Read(make([]byte, idleShort))
}

// figuresNow returns the figures of this process, after several garbage collections, which an idle
// process has every two minutes: they empty pools and shrink stacks step by step. Before them it
// waits until at most most goroutines are left.
func figuresNow(most int64) (f idleFigures) {
	for deadline := time.Now().Add(time.Minute); int64(runtime.NumGoroutine()) > most && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	var m runtime.MemStats
	for i := range 20 {
		debug.FreeOSMemory() // a collection, too
		before := m.StackInuse
		// A pool keeps for two collections what was put into it, and the last Read puts its buffer
		// there when it sleeps, not before.
		if runtime.ReadMemStats(&m); m.StackInuse == before && i >= 4 {
			break
		}
	}
	f = idleFigures{
		Heap: int64(m.HeapInuse), Stack: int64(m.StackInuse), Live: int64(m.HeapAlloc), Objects: int64(m.HeapObjects),
		Goroutines: int64(runtime.NumGoroutine()),
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return f // another system
	}
	if _, rest, ok := bytes.Cut(status, []byte("VmRSS:")); ok {
		fmt.Sscan(string(rest), &f.RSS)
		f.RSS *= 1 << 10
	}
	return f
}
