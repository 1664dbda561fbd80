package extsock_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A mortal is an end of a connection whose memory the budget must count.
type mortal struct {
	c      *extsock.Conn
	below  net.Conn
	peer   *mortal
	tap    *bomb
	least  int64 // bytes that it may hold beyond the budget
	closed bool  // the program has called Close
}

// An endsRun ends connections at random.
type endsRun struct {
	t       *testing.T
	r       *rand.Rand
	backend toe.Backend
	l       *extsock.Listener
	all     []*mortal
	calls   sync.WaitGroup
	pause   func(d time.Duration)
	story   strings.Builder
}

// TestRandomEnds: connections of all modes end in all ways, with data unread, partly read, in the
// middle of an FPDU or of a grant, in a backlog, or by a panic. After each step the budget has
// reserved at least what they hold beyond their allowances. After all are closed, the budget has
// everything back.
func TestRandomEnds(t *testing.T) {
	alone(t)
	defer extsock.ResetPanics()
	randomRounds(t, 40, func(t *testing.T, seed uint64) {
		bubble(t, func(t *testing.T) {
			x := &endsRun{t: t, r: rand.New(rand.NewPCG(seed, 7)), backend: simtoe.New(simtoe.Config{}), pause: func(d time.Duration) { time.Sleep(d) }}
			x.run(seed)
		})
	})
}

func (x *endsRun) run(seed uint64) {
	before := extsock.SetMemoryLimit(-1)
	defer extsock.SetMemoryLimit(before)
	var err error
	if x.l, err = extsock.Listen("tcp", "server:1", x.config()); err != nil {
		x.t.Fatal(err)
	}
	steps := []func(){x.open, x.open, x.write, x.write, x.write, x.read, x.read, x.sleep, x.breakOff, x.close, x.closeHalf, x.limit, x.dial, x.accept, x.explode}
	for range 60 {
		steps[x.r.IntN(len(steps))]()
		synctest.Wait()
		if err := x.check(); err != nil {
			x.t.Fatalf("RDDP_SEED=%d: %v, after:\n%s", seed, err, x.story.String())
		}
	}
	for _, m := range x.all {
		m.c.SetLinger(0)
		m.c.Close()
	}
	x.l.Close()
	x.calls.Wait()
	settle()
	if n := extsock.MemoryReserved(); n != unbalanced {
		x.t.Fatalf("RDDP_SEED=%d: %d bytes are reserved in the end, after:\n%s", seed, n, x.story.String())
	}
}

func (x *endsRun) tell(format string, args ...any) { fmt.Fprintf(&x.story, format+"\n", args...) }

// check compares the budget with what the connections hold.
func (x *endsRun) check() error {
	need := int64(0)
	for i, m := range x.all {
		held, live := extsock.Held(m.c)
		need += max(held-m.least, 0)
		if m.closed && !live && held > 0 {
			return fmt.Errorf("%d is closed and over, and holds %d bytes", i, held)
		}
	}
	if n := extsock.MemoryReserved(); n < need {
		return fmt.Errorf("the connections hold %d bytes beyond their allowances, and %d are reserved", need, n)
	}
	return nil
}

func (x *endsRun) config() *extsock.Config {
	return &extsock.Config{
		Backend: x.backend, Startup: extsock.StartupRequire, Messages: x.r.IntN(2) == 0, Crossover: oneOf(x.r, -1, 0, 40_000),
		CloseTimeout: oneOf(x.r, time.Millisecond, 3*time.Second), MaxFPDU: oneOf(x.r, 0, 0, 5000), RSockets: x.r.IntN(8) == 0,
	}
}

// add adds an end that is in DDP mode.
func (x *endsRun) add(c *extsock.Conn, below net.Conn, tap *bomb) *mortal {
	const message = 64 << 10
	m := &mortal{c: c, below: below, tap: tap, least: 2 * message}
	if extsock.Window(c) > 0 { // a byte stream
		m.least = 8 * message
	}
	x.all = append(x.all, m)
	return m
}

// some returns an end, or nil if there is none.
func (x *endsRun) some() (i int, m *mortal) {
	if len(x.all) == 0 {
		return 0, nil
	}
	i = x.r.IntN(len(x.all))
	return i, x.all[i]
}

func (x *endsRun) open() {
	if len(x.all) > 12 {
		return
	}
	cut := simtoe.Config{CutHow: oneOf(x.r, simtoe.FIN, simtoe.RST)}
	if x.r.IntN(2) == 0 {
		cut.CutAfter = 1000 + x.r.Int64N(oneOf[int64](x.r, 20_000, 3_000_000))
	}
	a, b := simtoe.Pair(cut, simtoe.Config{})
	cfg := x.config()
	taps := [2]*bomb{new(bomb), new(bomb)}
	var conns [2]*extsock.Conn
	for i, s := range []net.Conn{a, b} {
		own := *cfg
		if x.r.IntN(3) == 0 {
			own.Tap = func(net.Addr, net.Addr, bool) toe.Tap { return taps[i] }
		} else {
			taps[i] = nil
		}
		conns[i] = extsock.NewConn(s, i == 0, &own)
	}
	if err := switchBoth(x.t.Context(), conns[0], conns[1]); err != nil {
		conns[0].Close()
		conns[1].Close()
		return
	}
	p, q := x.add(conns[0], a, taps[0]), x.add(conns[1], b, taps[1])
	p.peer, q.peer = q, p
	x.tell("open %d, %d: messages %t, crossover %d, %v after %d", len(x.all)-2, len(x.all)-1, cfg.Messages, cfg.Crossover, cut.CutHow, cut.CutAfter)
}

func (x *endsRun) write() {
	i, m := x.some()
	if m == nil {
		return
	}
	n, pieces := oneOf(x.r, 100, 50_000, 60_000, 700_000), 1+x.r.IntN(20)
	if extsock.Window(m.c) == 0 { // a message
		n = min(n, 60_000)
	}
	late := oneOf(x.r, time.Millisecond, time.Second)
	x.tell("%d writes %d times %d bytes, for %v", i, pieces, n, late)
	m.c.SetWriteDeadline(time.Now().Add(late))
	x.calls.Go(func() {
		for range pieces {
			if _, err := m.c.Write(make([]byte, n)); err != nil {
				return
			}
		}
	})
}

func (x *endsRun) read() {
	i, m := x.some()
	if m == nil {
		return
	}
	n, late := oneOf(x.r, 1, 1000, 100_000, 1_000_000), oneOf(x.r, time.Microsecond, time.Millisecond, time.Second)
	x.tell("%d reads %d bytes, for %v", i, n, late)
	m.c.SetReadDeadline(time.Now().Add(late))
	x.calls.Go(func() { m.c.Read(make([]byte, n)) })
}

func (x *endsRun) sleep() {
	d := oneOf(x.r, time.Microsecond, time.Millisecond, time.Second, 10*time.Second)
	x.tell("%v", d)
	x.pause(d)
}

func (x *endsRun) breakOff() {
	i, m := x.some()
	if m == nil || m.below == nil {
		return
	}
	if reset := x.r.IntN(2) == 0; reset {
		x.tell("TCP of %d resets", i)
		_ = m.below.(toe.Stream).Abort()
	} else {
		x.tell("TCP of %d ends", i)
		_ = m.below.Close()
	}
}

func (x *endsRun) close() {
	i, m := x.some()
	if m == nil {
		return
	}
	linger := oneOf(x.r, -1, -1, 0)
	x.tell("%d closes, linger %d", i, linger)
	m.c.SetLinger(linger)
	m.closed = true
	x.calls.Go(func() { m.c.Close() })
}

func (x *endsRun) closeHalf() {
	i, m := x.some()
	if m == nil {
		return
	}
	if x.r.IntN(2) == 0 {
		x.tell("%d closes its way in", i)
		m.c.CloseRead()
	} else {
		x.tell("%d closes its way out", i)
		m.c.CloseWrite()
	}
}

func (x *endsRun) limit() {
	n := oneOf[int64](x.r, 0, 1<<20, 16<<20, extsock.DefaultMemory)
	x.tell("the limit is %d", n)
	extsock.SetMemoryLimit(n)
}

// dial makes a peer fill a connection that the program has not accepted, and perhaps reset it.
func (x *endsRun) dial() {
	c, err := (&extsock.Dialer{Config: x.config()}).DialDDP(x.t.Context(), "tcp", x.l.Addr().String())
	if err != nil {
		return
	}
	x.tell("a client fills the backlog")
	c.SetWriteDeadline(time.Now().Add(time.Millisecond))
	if x.r.IntN(2) == 0 {
		c.SetLinger(0)
	}
	x.calls.Go(func() {
		for range 64 {
			if _, err := c.Write(make([]byte, 60_000)); err != nil {
				break
			}
		}
		c.Close()
	})
}

func (x *endsRun) accept() {
	_ = x.l.SetDeadline(time.Now().Add(time.Microsecond))
	c, err := x.l.AcceptDDP()
	if err != nil {
		return
	}
	x.add(c, nil, nil)
	x.tell("%d is accepted", len(x.all)-1)
}

// explode makes a Tap panic at the next bytes.
func (x *endsRun) explode() {
	i, m := x.some()
	if m == nil || m.tap == nil {
		return
	}
	x.tell("the Tap of %d panics", i)
	if x.r.IntN(2) == 0 {
		m.tap.sent.Store(true)
	} else {
		m.tap.received.Store(true)
	}
}
