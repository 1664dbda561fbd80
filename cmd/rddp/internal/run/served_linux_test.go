//go:build amd64 || arm64

package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/rdmap"
)

func init() {
	programs["serve"], programs["serve-itself"] = serveProgram, serveItselfProgram
}

// servedLen is the length in bytes of the memory that a serving program exposes.
const servedLen = 64

// BenchmarkServed measures how long a peer waits for one-sided operations on a program's memory,
// depending on what the program does. Either the program runs under Run, so that a separate process
// serves its memory, or it uses extsock and serves the memory itself. The peer is this process,
// which uses extsock. A Write is followed by a Read, which shows that the data is in the memory.
// +Inf means that the operation is not served.
//
// An operation begins when the previous one is complete, or after a pause. Without a pause, peer
// and device together need more than their share of two processors, if four other threads compute.
func BenchmarkServed(b *testing.B) {
	for _, server := range []string{"serve", "serve-itself"} {
		for _, doing := range occupations {
			b.Run(server+"/"+doing.desc, func(b *testing.B) {
				p := startServing(b, server)
				// This process represents a peer on another host, which would not compete with the
				// program.
				setTimeSlices(timeSlice)
				b.Cleanup(func() { setTimeSlices(0) }) // the next program would inherit it
				p.occupy(b, doing.begin)
				for _, op := range servedOps {
					for _, pause := range []time.Duration{0, 500 * time.Microsecond} {
						b.Run(fmt.Sprintf("%s/pause=%v", op.desc, pause), func(b *testing.B) { p.measure(b, op.wrs(p), pause) })
					}
				}
				p.occupy(b, doing.end)
			})
		}
	}
}

// occupations are what a program does while it is served.
var occupations = []struct {
	desc       string
	begin, end func(p *serving) error
}{
	{"idle", nothing, nothing},
	{"four busy threads", tellServing("busy"), tellServing("idle")},
	{"four busy threads of SCHED_IDLE", yield, tellServing("idle")},
	{"SIGSTOP", signalServing(unix.SIGSTOP), signalServing(unix.SIGCONT)},
	{"stopped by a debugger", attach, detach},
}

func nothing(*serving) error { return nil }

func tellServing(what string) func(p *serving) error {
	return func(p *serving) error {
		if _, err := fmt.Fprintln(p.in, what); err != nil {
			return err
		}
		answer, err := p.out.ReadString('\n')
		if err == nil && answer != what+"\n" {
			err = fmt.Errorf("the program says %q, not %q", answer, what)
		}
		return err
	}
}

func signalServing(s syscall.Signal) func(p *serving) error {
	return func(p *serving) error {
		if err := unix.Kill(p.pid, s); err != nil || s == unix.SIGCONT {
			return err
		}
		for {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
			if _, rest, _ := strings.Cut(string(stat), ") "); err != nil || strings.HasPrefix(rest, "T") {
				return err
			}
		}
	}
}

// yield makes the program busy with threads of the lowest priority, as with chrt --idle.
func yield(p *serving) error {
	if err := tellServing("busy")(p); err != nil {
		return err
	}
	return p.eachThread(func(tid int) error {
		return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	})
}

// eachThread calls do for each thread of the program, including those that start in the meantime.
func (p *serving) eachThread(do func(tid int) error) error {
	var done []int
	for {
		before := len(done)
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
		if err != nil {
			return err
		}
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || slices.Contains(done, tid) {
				continue
			}
			if err := do(tid); err != nil {
				return err
			}
			done = append(done, tid)
		}
		if len(done) == before {
			return nil
		}
	}
}

// attach stops all threads of the program like a debugger. detach must be called in the same
// thread.
func attach(p *serving) error {
	runtime.LockOSThread()
	return p.eachThread(func(tid int) error {
		if err := errors.Join(ptrace(unix.PTRACE_SEIZE, tid), ptrace(unix.PTRACE_INTERRUPT, tid)); err != nil {
			return err
		}
		p.traced = append(p.traced, tid)
		_, err := unix.Wait4(tid, nil, unix.WALL, nil)
		return err
	})
}

func detach(p *serving) error {
	defer runtime.UnlockOSThread()
	var errs []error
	for _, tid := range p.traced {
		errs = append(errs, ptrace(unix.PTRACE_DETACH, tid))
	}
	return errors.Join(errs...)
}

// servedOps are the operations of the peer, with the work requests for each.
var servedOps = []struct {
	desc string
	wrs  func(p *serving) []rdmap.WorkRequest
}{
	{"Read", func(p *serving) []rdmap.WorkRequest {
		return []rdmap.WorkRequest{{Op: rdmap.WorkRead, Data: make([]byte, servedLen), Remote: p.memory}}
	}},
	{"Write", func(p *serving) []rdmap.WorkRequest {
		return []rdmap.WorkRequest{
			{Op: rdmap.WorkWrite, Data: make([]byte, servedLen), Remote: p.memory, Unsignaled: true},
			{Op: rdmap.WorkRead, Data: make([]byte, servedLen), Remote: p.memory},
		}
	}},
	{"FetchAdd", func(p *serving) []rdmap.WorkRequest {
		return []rdmap.WorkRequest{{Op: rdmap.WorkFetchAdd, Operand: 1, Remote: p.memory}}
	}},
}

// A serving is a program that exposes memory, and the connection to it.
type serving struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	pid    int
	conn   *extsock.Conn
	memory rdmap.Handle
	traced []int // threads that are stopped
}

// greeting is the private data with which a peer requests a connection with frames, and here is the
// first frame: see packages cm and device.
const greeting = "rddp CM1\x00\x00\x00\x01"

var here = append([]byte{4}, make([]byte, 15)...)

// startServing starts a program, and connects to it.
func startServing(b *testing.B, name string) *serving {
	b.Helper()
	p := &serving{cmd: under(performance(b, name)...)}
	cfg := &extsock.Config{Startup: extsock.StartupRequire, Messages: true}
	if name == "serve-itself" {
		p.cmd = exec.Command("/proc/self/exe", perform, name)
		p.cmd.Stderr = os.Stderr
	} else {
		cfg.PrivateData = []byte(greeting)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	line, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	var address string
	if _, err := fmt.Sscan(line, &p.pid, &address); err != nil {
		b.Fatal(err)
	}
	c, err := extsock.Dial("tcp", address, cfg)
	if err != nil {
		b.Fatal(err)
	}
	p.conn = c
	b.Cleanup(func() {
		_ = c.Close()
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	private := strings.TrimPrefix(string(c.ConnectionState().PeerPrivateData), greeting[:8])
	if name == "serve" {
		private = private[4:]
		if _, err := c.Write(here); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := fmt.Sscan(private, &p.memory.STag, &p.memory.TO); err != nil {
		b.Fatal(err)
	}
	p.memory.Len = servedLen
	return p
}

// occupy makes the program begin or end an occupation.
func (p *serving) occupy(b *testing.B, do func(*serving) error) {
	b.Helper()
	if err := do(p); err != nil {
		b.Fatal(err)
	}
}

// unserved is the time after which an operation counts as not served.
const unserved = time.Second / 2

// measureLimit bounds the duration of measure, because an operation may take tens of milliseconds.
const measureLimit = 2 * time.Second

// measure makes an operation again and again.
func (p *serving) measure(b *testing.B, wrs []rdmap.WorkRequest, pause time.Duration) {
	took := make([]float64, 0, b.N)
	for end := time.Now().Add(measureLimit); len(took) < b.N && time.Now().Before(end); {
		time.Sleep(pause)
		begin := time.Now()
		if n, err := p.conn.PostBatch(wrs); n < len(wrs) {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), unserved)
		done, err := p.conn.SendCQ().Wait(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			took = []float64{math.Inf(1)}
			break
		}
		if err = errors.Join(err, done.Err); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin).Seconds()*1e6)
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-µs")
	b.ReportMetric(took[len(took)*99/100], "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// serveProgram exposes memory to a peer that connects by rdma_cm.
func serveProgram([]string) error {
	d, err := newDialog()
	if err != nil {
		return err
	}
	_, port, err := d.listen(1, 0)
	if err != nil {
		return err
	}
	tell("%d 127.0.0.1:%d", os.Getpid(), port)
	e, err := d.cm.Want(1, guest.ConnectRequest)
	if err != nil {
		return err
	}
	if err := d.newQP(e.ID); err != nil {
		return err
	}
	if err := d.cm.Accept(e.ID, 2, guest.Param{QPN: d.qp.Num, Data: fmt.Sprint(d.mr.Key, d.mr.Addr), Responder: 16, Depth: 16}); err != nil {
		return err
	}
	if _, err := d.cm.Want(2, guest.Established); err != nil {
		return err
	}
	return obey(runtime.NumCPU() + 4)
}

// serveItselfProgram exposes memory to a peer that connects, and serves it in its own process.
func serveItselfProgram([]string) error {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Messages: true, JudgeRequests: true})
	if err != nil {
		return err
	}
	tell("%d %s", os.Getpid(), l.Addr())
	a, err := l.Accept()
	if err != nil {
		return err
	}
	c := a.(*extsock.Conn)
	r, err := c.ReceiveRequest(context.Background())
	if err != nil {
		return err
	}
	memory := make([]byte, servedLen)
	region, err := c.Register(memory, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	h := region.Handle()
	if err := r.Accept(context.Background(), fmt.Append(nil, uint32(h.STag), " ", h.TO)); err != nil {
		return err
	}
	return obey(runtime.NumCPU())
}

// obey executes commands from the standard input until it ends. threads is the value of GOMAXPROCS
// while the program computes. A program that serves itself is like other Go programs: it has one
// computing thread for each processor.
func obey(threads int) error {
	var busy atomic.Bool
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if busy.Store(in.Text() == "busy"); busy.Load() {
			runtime.GOMAXPROCS(threads)
			for range 4 {
				go func() {
					for busy.Load() {
					}
				}()
			}
		}
		tell("%s", in.Text())
	}
	return nil
}
