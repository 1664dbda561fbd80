//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/trace"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/timeline"
)

// A file is a file of a test.
type file struct {
	mu sync.Mutex
	b  bytes.Buffer // +checklocks:mu
}

func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.b.Write(p)
}

// text returns what has been written.
func (f *file) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.b.String()
}

// A traced is a program whose device is traced and captured.
type traced struct {
	*program
	tracer         *trace.Tracer
	trace, capture file
	packets        *pcapng.Writer
	spool          trace.Spool
}

func newTraced(t *testing.T, f trace.Format, onlyTCP bool) *traced {
	t.Helper()
	x := new(traced)
	x.tracer, x.spool = trace.New(&x.trace, f), trace.NewSpool(&x.capture)
	w, err := pcapng.NewWriter(x.spool)
	if err != nil {
		t.Fatal(err)
	}
	w.Direct = true
	x.packets = w
	d, err := New(Config{Addresses: []netip.Addr{localhost}, OnlyTCP: onlyTCP, Trace: x.tracer, Capture: w})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	x.program = newProgram(t, d)
	return x
}

// end closes the device, and its files.
func (x *traced) end(t *testing.T) {
	t.Helper()
	x.ctx.Close()
	x.dev.Close()
	if lost, err := x.tracer.Close(); lost != 0 || err != nil {
		t.Errorf("%d events are lost: %v", lost, err)
	}
	if err := x.packets.Close(); err != nil {
		t.Error(err)
	}
	if lost, err := x.spool.Close(); lost != 0 || err != nil {
		t.Errorf("%d packets are lost: %v", lost, err)
	}
}

// messages returns how many RDMAP messages of each kind end in a capture.
func (x *traced) messages(t *testing.T) map[string]int {
	t.Helper()
	n := make(map[string]int)
	err := dissect.Read(strings.NewReader(x.capture.text()), func(r dissect.Record) error {
		switch r.Kind {
		case dissect.KindFPDU:
			if r.CRC == dissect.CRCBad || r.Error != "" {
				t.Errorf("%+v", r)
			}
			if r.Last {
				n[r.Op]++
			}
		case dissect.KindSummary:
		case dissect.KindError:
			t.Errorf("%+v", r)
		default:
			n[r.Kind]++
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestTrace: the timeline has each work request from its post to its end, each receive, completion
// and message, and an arrow for each message if both ends are traced. The capture has the same
// messages, through memory as over TCP.
func TestTrace(t *testing.T) {
	for _, onlyTCP := range []bool{false, true} {
		t.Run(fmt.Sprintf("onlyTCP %t", onlyTCP), func(t *testing.T) {
			a, b := newTraced(t, &trace.Timeline{Base: 1000}, onlyTCP), newTraced(t, &trace.Timeline{Base: 2000}, onlyTCP)
			qa, qb := a.qp(nil), b.qp(nil)
			joinPair(t, a.program, b.program, qa, qb)
			const rounds, long = 20, 300 << 10
			for i := range uint64(rounds) {
				qb.PostRecv(100+i, b.mr.Part(0, long))
				err := qa.Post(
					guest.WR{ID: 1, Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, long)}},
					guest.WR{ID: 2, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, long)}},
					guest.WR{ID: 3, Op: guest.OpRead, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}},
				)
				if err != nil {
					t.Fatal(err)
				}
				a.want("the Read", 3, uverbs.Success)
				b.want("the receive", 100+i, uverbs.Success)
			}
			a.end(t)
			b.end(t)
			all, err := timeline.Check([]byte(a.trace.text() + strings.TrimPrefix(b.trace.text(), "[\n")))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []struct {
				phase, name string
				n           int
			}{
				{"B", "Write", rounds}, {"B", "Send", rounds}, {"B", "Read", rounds}, {"B", "receive", rounds}, {"i", "RDMA_READ", rounds}, {"i", "RECV", rounds},
				{"i", "SEND", 0},
			} {
				if n := timeline.Count(all, want.phase, want.name); n != want.n {
					t.Errorf("%d events %s %q, want %d", n, want.phase, want.name, want.n)
				}
			}
			if whole, half := timeline.Arrows(all); whole < 5*rounds || half > 2 {
				t.Errorf("%d arrows have both ends, %d have one", whole, half)
			}
			for _, e := range all {
				if status, ok := e.Args["status"]; e.Phase == "E" && (!ok || status != "success") {
					t.Errorf("%+v", e)
				}
			}
			own, theirs := a.messages(t), b.messages(t)
			for op, want := range map[string]int{"mpa-request": 1, "mpa-reply": 1, "rdma-read-request": rounds, "rdma-read-response": rounds, "rdma-write": 3 * rounds} {
				if own[op] < want || own[op] != theirs[op] {
					t.Errorf("%d messages %s, and %d at the peer, want %d", own[op], op, theirs[op], want)
				}
			}
			if own["send"] < 5*rounds {
				t.Errorf("%d Sends, want %d or more", own["send"], 5*rounds)
			}
		})
	}
}

// TestTraceSelf: the arrows of queue pairs that are joined with themselves have numbers of their
// own, also if such a queue pair is joined again.
func TestTraceSelf(t *testing.T) {
	x := newTraced(t, &trace.Timeline{Base: 1000}, false)
	const messages = 2 // a Write and its acknowledgement
	lives := 0
	for _, q := range []*guest.QP{x.qp(nil), x.qp(nil)} {
		for range 2 {
			if err := q.Join(x.gid, q.Num); err != nil {
				t.Fatal(err)
			}
			if err := q.Post(guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: x.mr.Addr + 64, Key: x.mr.Key, List: []guest.SGE{x.mr.Part(0, 64)}}); err != nil {
				t.Fatal(err)
			}
			x.want("a Write", 1, uverbs.Success)
			if err := q.Modify(uint8(uverbs.Reset), x.gid, q.Num, nil); err != nil {
				t.Fatal(err)
			}
			lives++
		}
	}
	x.end(t)
	all, err := timeline.Check([]byte(x.trace.text()))
	if err != nil {
		t.Fatal(err)
	}
	if whole, half := timeline.Arrows(all); whole < messages*lives || half > lives { // the last message of a life may find nobody
		t.Errorf("%d arrows have both ends, %d have one", whole, half)
	}
}

// TestTraceFailure: the text has the status of a work request that fails, of one in front of it,
// and of one behind it.
func TestTraceFailure(t *testing.T) {
	x := newTraced(t, new(trace.Text), overTCP)
	y := newProgram(t, newDevice(t))
	qx, qy := x.qp(nil), y.qp(nil)
	joinPair(t, x.program, y, qx, qy)
	if err := qx.Post(
		guest.WR{ID: 0x51, Op: guest.OpWrite, Remote: y.mr.Addr, Key: y.mr.Key, List: []guest.SGE{x.mr.Part(0, 64)}},
		guest.WR{ID: 0x52, Op: guest.OpWrite, Remote: y.mr.Addr, Key: y.mr.Key + 1, List: []guest.SGE{x.mr.Part(0, 64)}},
	); err != nil {
		t.Fatal(err)
	}
	x.want("the Write", 0x52, uverbs.RemoteAccessErr)
	if err := qx.Post(guest.WR{ID: 0x53, Op: guest.OpSend, List: []guest.SGE{x.mr.Part(0, 64)}}); err != nil {
		t.Fatal(err)
	}
	x.want("the Send", 0x53, uverbs.FlushErr)
	x.end(t)
	text := x.trace.text()
	for _, want := range []string{
		": post Write #0 wr_id 0x51, 64 bytes, remote_addr ", ": done #0 without a completion: success\n", ": post Write #1 wr_id 0x52, ", ": -> RDMA Write, 64 bytes, ",
		"completion of RDMA_WRITE wr_id 0x52, 64 bytes: remote access error\n", ": post Send #2 wr_id 0x53, 64 bytes\n",
		"completion of SEND wr_id 0x53, 0 bytes: flushed\n", ": <- Terminate, ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not have %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestTraceForgotten: work requests of a queue pair that is destroyed end in the timeline, too.
func TestTraceForgotten(t *testing.T) {
	x := newTraced(t, new(trace.Timeline), overTCP)
	y := newProgram(t, newDevice(t))
	qx, qy := x.qp(nil), y.qp(nil)
	joinPair(t, x.program, y, qx, qy)
	if err := qx.Post(guest.WR{ID: 1, Op: guest.OpSend, List: []guest.SGE{x.mr.Part(0, 64)}}); err != nil { // there is no receive
		t.Fatal(err)
	}
	x.awaitTaken(t, 1)
	x.end(t)
	all, err := timeline.Check([]byte(x.trace.text()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(e timeline.Event) bool {
		return e.Phase == "E" && e.Args["status"] == "the program has reset or destroyed the queue pair"
	}) {
		t.Errorf("the Send has no end: %+v", all)
	}
}

// TestTraceReset: a queue pair without a link is forgotten, too, when it is destroyed. What was in
// its queue counts as taken.
func TestTraceReset(t *testing.T) {
	x := newTraced(t, new(trace.Text), overTCP)
	g := x.qp(nil)
	q := x.dev.find(g.Num)
	if !q.sq.Put(func([]byte) {}) {
		t.Fatal("the queue is full")
	}
	if _, err := x.Destroy(uint32(uverbs.DestroyQP), g.Handle); err != nil {
		t.Fatal(err)
	}
	if n := q.traced.taken.Load(); n != 1 {
		t.Errorf("%d work requests are taken, want 1", n)
	}
	x.end(t)
	if want := fmt.Sprintf("QP %d: what has not completed never will: the program has reset or destroyed the queue pair\n", g.Num); strings.Count(x.trace.text(), want) != 1 {
		t.Errorf("the text does not have %q once:\n%s", want, x.trace.text())
	}
}

// awaitTaken waits until the device has taken n work requests from a queue.
func (x *traced) awaitTaken(t *testing.T, n uint64) {
	t.Helper()
	deadline := prototest.Deadline(t)
	for taken := uint64(0); taken < n; {
		taken = 0
		x.ctx.pairsMu.RLock()
		for _, q := range x.ctx.pairs {
			taken += q.traced.taken.Load()
		}
		x.ctx.pairsMu.RUnlock()
		if time.Now().After(deadline) {
			t.Fatalf("%d work requests are taken, want %d", taken, n)
		}
		runtime.Gosched()
	}
}

// FuzzTap: whatever a peer sends, the trace gets over it.
func FuzzTap(f *testing.F) {
	f.Add([]byte{0, 24, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, true)
	f.Add([]byte{0, 14, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, false)
	f.Fuzz(func(t *testing.T, b []byte, framed bool) {
		tracer := trace.New(new(file), new(trace.Text))
		defer tracer.Close()
		x := &tap{dev: &Device{trace: tracer}}
		x.q.Store(&queuePair{num: 1, ctx: &Context{dev: x.dev}})
		if framed {
			x.Received([]byte("rddp"))
		}
		x.ReceivedFPDUs(b, 0, false)
		x.SentFPDUs([][]byte{b, b}, 0, false)
	})
}
