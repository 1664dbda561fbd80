package usertcp_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
)

// newLossyStacks makes two Stacks with a lossy link between them.
func newLossyStacks(t testing.TB, mtu int, seed uint64, drop, again, late float64, cfg usertcp.Config) (a, b *usertcp.Stack) {
	t.Helper()
	x, y := usertcp.Pipe(mtu)
	cfg.Addresses = addrsA
	a = newStack(t, prototest.NewLossy(x, seed, drop, again, late), cfg)
	cfg.Addresses = addrsB
	return a, newStack(t, prototest.NewLossy(y, seed+1, drop, again, late), cfg)
}

// TestTransferLossy moves bytes over links that lose, repeat and delay packets. Transfer compares
// the early runs with the bytes in order.
func TestTransferLossy(t *testing.T) {
	const size = 1 << 20
	var sum usertcp.EarlyStats
	for _, test := range []struct{ drop, again, late float64 }{
		{0, 0.01, 0.10},
		{0.01, 0, 0},
		{0.02, 0.01, 0.10},
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%+v, seed %d", test, seed), func(t *testing.T) {
				a, b := newLossyStacks(t, 1500, seed, test.drop, test.again, test.late, usertcp.Config{})
				x, y := connect(t, a, b, "tcp", "10.7.0.2:0")
				defer x.Close()
				defer y.Close()
				if err := toetest.Transfer(x, y, size, seed); err != nil {
					t.Error(err)
				}
				stats := b.EarlyStats()
				t.Logf("%+v", stats)
				sum.Runs += stats.Runs
			})
		}
	}
	if sum.Runs == 0 {
		t.Error("no run was shown early")
	}
}

// A gate is a Link that drops the packets that a function chooses.
type gate struct {
	usertcp.Link
	drops func(p []byte) bool
}

func (g *gate) Write(p []byte) (int, error) {
	if g.drops(p) {
		return len(p), nil
	}
	return g.Link.Write(p)
}

// A waiting is a Lender of p that signals when the Stream waits for the first time.
type waiting struct {
	p     []byte
	waits chan struct{}
	once  sync.Once
}

func (w *waiting) Lend() []byte { return w.p }

func (w *waiting) TakeBack() bool {
	w.once.Do(func() { close(w.waits) })
	return true
}

// TestEarlyRun loses a segment until the following one has been shown early, at its place in the
// stream.
func TestEarlyRun(t *testing.T) {
	first := bytes.Repeat([]byte("first."), 100)
	second := bytes.Repeat([]byte("second"), 100)
	var open atomic.Bool
	x, y := usertcp.Pipe(1500)
	a := newStack(t, &gate{x, func(p []byte) bool { return !open.Load() && bytes.Contains(p, first) }}, usertcp.Config{Addresses: addrsA})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	if _, err := s.Write([]byte("startup")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4096)
	if n, err := r.Read(p); string(p[:n]) != "startup" {
		t.Fatalf("Read = %q, %v", p[:n], err)
	}
	l := &waiting{p: p, waits: make(chan struct{})}
	go func() {
		<-l.waits // until then the tap keeps nothing
		s.TryWriteBatch([][]byte{first})
		s.TryWriteBatch([][]byte{second})
	}()
	if n, off, err := r.ReadSegment(l, 0); err != nil || off != uint64(len(first)) || !bytes.Equal(p[:n], second) {
		t.Fatalf("ReadSegment with a gap = %.20q, %d, %v, want %.20q, %d", p[:n], off, err, second, len(first))
	}
	open.Store(true)
	for in, want := 0, append(first, second...); in < len(want); {
		n, off, err := toetest.ReadSegment(r, p)
		if err != nil || off != uint64(in) || !bytes.Equal(p[:n], want[in:][:n]) {
			t.Fatalf("ReadSegment = %.20q, %d, %v, want %.20q, %d", p[:n], off, err, want[in:], in)
		}
		in += n
	}
	stats := r.(*usertcp.Stream).EarlyStats()
	if want := (usertcp.EarlyStats{Runs: 1, Bytes: uint64(len(second))}); stats.Runs != want.Runs || stats.Bytes != want.Bytes {
		t.Errorf("EarlyStats() = %+v, want %+v", stats, want)
	}
}

// TestNoEarlyRuns switches early runs off, for the Stack and for the connection. If the Stack shows
// none, one connection cannot enable them.
func TestNoEarlyRuns(t *testing.T) {
	for _, test := range []struct {
		desc    string
		ofStack bool
		change  func(c *usertcp.Stream)
	}{
		{"of the Stack", true, func(*usertcp.Stream) {}},
		{"of the Stack, and switched on", true, func(c *usertcp.Stream) { c.ShowEarly(true) }},
		{"of the connection", false, func(c *usertcp.Stream) { c.ShowEarly(false) }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			a, b := newLossyStacks(t, 1500, 1, 0.02, 0.01, 0.10, usertcp.Config{NoEarlyRuns: test.ofStack})
			x, y := connect(t, a, b, "tcp", "10.7.0.2:0")
			defer x.Close()
			defer y.Close()
			if got := y.Capabilities().EarlyRuns; got == test.ofStack {
				t.Errorf("Capabilities().EarlyRuns = %t", got)
			}
			test.change(y.(*usertcp.Stream))
			if err := toetest.Transfer(x, y, 1<<19, 1); err != nil {
				t.Error(err)
			}
			if stats := y.(*usertcp.Stream).EarlyStats(); stats != (usertcp.EarlyStats{}) {
				t.Errorf("EarlyStats() = %+v, want none", stats)
			}
		})
	}
}
