package hostile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// An outcome describes how both ends of a session have ended.
type outcome struct {
	errs    [2]error // the Initiator's, the Responder's
	elapsed time.Duration
}

// both runs both ends of s over two connections.
func (s *session) both(a, b net.Conn) (o outcome) {
	begin := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() { o.errs[0] = s.Run(a, true) })
	wg.Go(func() { o.errs[1] = s.Run(b, false) })
	wg.Wait()
	o.elapsed = time.Since(begin)
	return o
}

// check checks that both ends have clean errors or none.
func (o *outcome) check(s *session) error {
	for i, err := range o.errs {
		if err != nil && (isNever(err) || !isTyped(err)) {
			return fmt.Errorf("the %s: %w (%T)", [2]string{"Initiator", "Responder"}[i], err, err)
		}
		if errors.Is(err, scenario.ErrEarly) && o.errs[1-i] == nil && !s.Config.Messages { // messages have no end other than TCP's
			return fmt.Errorf("%w, and that end knows of no error", err)
		}
	}
	return nil
}

// clean checks that there are no errors.
func (o *outcome) clean() error { return errors.Join(o.errs[0], o.errs[1]) }

// through runs s over sockets with a proxy in between, and also returns the proxy.
func (s *session) through(pairs *socketPairs, there, back faults) (o outcome, p *proxy, err error) {
	a, b, err := pairs.pair()
	if err != nil {
		return o, nil, err
	}
	c, d, err := pairs.pair()
	if err != nil {
		a.Close()
		b.Close()
		return o, nil, err
	}
	p = newProxy(b, c, there, back)
	o = s.both(a, d)
	p.close()
	return o, p, nil
}

// lengths returns the maximum number of octets that each end sends in an undisturbed session.
func (s *session) lengths(t *testing.T, pairs *socketPairs) (there, back int64) {
	t.Helper()
	for range 5 {
		o, p, err := s.through(pairs, faults{}, faults{})
		if err == nil {
			err = o.clean()
		}
		if err != nil {
			t.Fatalf("without a fault: %v", err)
		}
		there, back = max(there, p.there.passed), max(back, p.back.passed)
	}
	return there, back
}

// directions names the two directions through a proxy.
var directions = [2]string{"to the Responder", "to the Initiator"}

// place puts f into one direction.
func place(f faults, direction int) (there, back faults) {
	if direction == 0 {
		return f, faults{}
	}
	return faults{}, f
}

// stride selects the octets to test: all with full counts, and otherwise every step-th from a
// random first one on.
func stride(t *testing.T, short int) (first, step int64) {
	if testmode.Full {
		return 0, 1
	}
	return seeded(t).Int64N(int64(short)), int64(short)
}

// TestCutAtEveryOctet cuts each session at every octet, in both directions, with a FIN and with a
// reset. Both ends end within a second, with errors that say what has happened. They deliver no
// wrong octets, complete every Work Request once, and leave nothing behind.
func TestCutAtEveryOctet(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	pairs := newSocketPairs(t)
	var worst atomic.Int64
	var cuts, missed, slow atomic.Int64
	first, step := stride(t, 31)
	late := time.Second
	if !testmode.Full { // the machine may be busy; a real wait takes at least closeTimeout
		late = closeTimeout - time.Second
	}
	for _, s := range sessions {
		var lengths [2]int64
		lengths[0], lengths[1] = s.lengths(t, pairs)
		for direction, length := range lengths {
			for _, how := range []cutHow{fin, rst} {
				inParallel(int((length-first+step-1)/step), func(i int) {
					at := first + int64(i)*step
					desc := fmt.Sprintf("%s, %v after %d octets %s", s.Name, how, at, directions[direction])
					var o outcome
					var hit bool
					// On a busy machine a session may be slow once. If it is slow for a reason, it
					// is slow again.
					for range 3 {
						there, back := place(faults{cut: how, cutAt: at}, direction)
						var p *proxy
						var err error
						if o, p, err = s.through(pairs, there, back); err != nil {
							t.Error(err)
							return
						}
						if err := o.check(&s); err != nil {
							t.Errorf("%s: %v", desc, err)
						}
						if hit = [2]bool{p.there.hit, p.back.hit}[direction]; o.elapsed <= late {
							break
						}
						slow.Add(1)
					}
					switch {
					case !hit:
						missed.Add(1)
						if err := o.clean(); err != nil {
							t.Errorf("%s: not reached, and yet %v", desc, err)
						}
						return
					case o.elapsed > late:
						t.Errorf("%s: ended after %v (%v, %v)", desc, o.elapsed, o.errs[0], o.errs[1])
					case how == rst && o.clean() == nil && at < length-64:
						t.Errorf("%s: nobody has noticed", desc)
					}
					cuts.Add(1)
					for old := worst.Load(); int64(o.elapsed) > old && !worst.CompareAndSwap(old, int64(o.elapsed)); old = worst.Load() {
					}
				})
			}
		}
		t.Logf("%s: %d octets %s, %d %s", s.Name, lengths[0], directions[0], lengths[1], directions[1])
	}
	t.Logf("%d cuts, %d not reached, the slowest session ended after %v, %d times one took more than %v",
		cuts.Load(), missed.Load(), time.Duration(worst.Load()), slow.Load(), late)
	if cuts.Load() == 0 {
		t.Error("nothing was cut")
	}
	settled(t, goroutines+1) // the test's own listener may wait in the poller
}

// TestSilenceEndsAtTheDeadline silences one direction at every octet. Only the deadline reveals it,
// so both ends end at the deadline, or after it when Close stops waiting, in virtual time. The
// bubble is empty after the wait for the peer's FIN.
func TestSilenceEndsAtTheDeadline(t *testing.T) {
	first, step := stride(t, 13)
	cuts, told, slowest := 0, 0, time.Duration(0)
	for _, s := range sessions {
		for direction := range directions {
			for at := max(first, 1); ; at += step { // for simtoe 0 means no cut
				desc := fmt.Sprintf("%s, silence after %d octets %s", s.Name, at, directions[direction])
				var o outcome
				synctest.Test(t, func(t *testing.T) {
					there, back := simtoe.Config{CutAfter: at, CutHow: simtoe.Silence}, simtoe.Config{}
					if direction == 1 {
						there, back = back, there
					}
					a, b := simtoe.Pair(there, back)
					o = s.both(a, b)
					time.Sleep(closeTimeout) // Close waits in the background, and time ends with this function
				})
				if err := o.check(&s); err != nil {
					t.Errorf("%s: %v", desc, err)
				}
				if o.elapsed > scenario.SessionLimit+closeTimeout {
					t.Errorf("%s: ended after %v", desc, o.elapsed)
				}
				if o.elapsed == 0 { // neither end has waited: the cut is after the last octet
					if err := o.clean(); err != nil {
						t.Errorf("%s: %v without waiting", desc, err)
					}
					break
				}
				if isTimeout(o.errs[0]) || isTimeout(o.errs[1]) {
					told++
				} else if o.clean() == nil {
					t.Errorf("%s: nobody was told, after %v", desc, o.elapsed)
				}
				slowest = max(slowest, o.elapsed)
				cuts++
			}
		}
	}
	t.Logf("%d sessions fell silent, %d were told by a deadline, the slowest ended after %v of virtual time", cuts, told, slowest)
	if cuts == 0 || told == 0 {
		t.Error("nothing was cut")
	}
}

// closeTimeout is how long Close waits by default.
const closeTimeout = 5 * time.Second

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// TestFlipsAreFound flips a bit at every octet of live sessions, and each bit of their startup
// frames. A flip in an FPDU is always found, and nothing wrong is delivered. The startup frames
// have no CRC except that of the capability record. A flip there may go unnoticed if nothing
// depends on that bit, but no wrong octets are delivered.
func TestFlipsAreFound(t *testing.T) {
	first, step := stride(t, 7)
	flips, found, unnoticed := 0, 0, 0
	for _, s := range sessions {
		for direction := range directions {
			for at, bit := first, 0; ; {
				if at >= s.startupLen() {
					bit = int(at % 8)
				}
				desc := fmt.Sprintf("%s, bit %d of octet %d %s", s.Name, bit, at, directions[direction])
				there, back := place(faults{flip: true, flipAt: at, flipBit: bit}, direction)
				var o outcome
				hit := false
				synctest.Test(t, func(t *testing.T) {
					o, hit = s.inBubble(there, back, direction)
				})
				if err := o.check(&s); err != nil {
					t.Errorf("%s: %v", desc, err)
				}
				if !hit {
					if err := o.clean(); err != nil {
						t.Errorf("%s: not reached, and yet %v", desc, err)
					}
					break
				}
				flips++
				if o.clean() != nil {
					found++
				} else if unnoticed++; at >= s.startupLen() {
					t.Errorf("%s: was not found", desc)
				}
				if bit++; bit >= 8 || at >= s.startupLen() {
					at, bit = at+step, 0
				}
			}
		}
	}
	t.Logf("%d flips, %d found, %d in startup frames that change nothing", flips, found, unnoticed)
	if found == 0 {
		t.Error("nothing was flipped")
	}
}

// startupLen is at least as long as the longer startup frame of the session: 20 octets, 4 of the
// enhanced header, 20 of the capability record and the private data. Startup frames have no CRC
// (RFC 5044 §7.1). Only TCP's checksum protects them, and the record has its own CRC.
func (s *session) startupLen() int64 {
	if s.Config.Messages {
		return 20 + 4 + 20
	}
	return 20 + 4 + 20 + 12
}

// inBubble runs s over a simulated network with a proxy in between, and reports whether the fault
// has happened.
func (s *session) inBubble(there, back faults, direction int) (o outcome, hit bool) {
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	c, d := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	p := newProxy(b, c, there, back)
	o = s.both(a, d)
	time.Sleep(closeTimeout)
	p.close()
	return o, [2]bool{p.there.hit, p.back.hit}[direction]
}

// TestSplitsChangeNothing splits the stream at every octet, sends it octet by octet and in pieces
// of random lengths, slowly and at a limited rate. Every session runs as it does unsplit, and only
// the path takes time.
func TestSplitsChangeNothing(t *testing.T) {
	random := seeded(t)
	var mu sync.Mutex // the proxy calls piece for both directions
	piece := func() int {
		mu.Lock()
		defer mu.Unlock()
		return 1 + random.IntN(100)
	}
	run := func(desc string, s session, limit time.Duration, f func() faults) (there, back int64) {
		synctest.Test(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			c, d := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			p := newProxy(b, c, f(), f())
			o := s.both(a, d)
			if err := o.clean(); err != nil {
				t.Errorf("%s, %s: %v", s.Name, desc, err)
			}
			if o.elapsed > limit {
				t.Errorf("%s, %s: took %v", s.Name, desc, o.elapsed)
			}
			time.Sleep(closeTimeout)
			p.close()
			there, back = p.there.passed, p.back.passed
		})
		return there, back
	}
	splits := 0
	for _, s := range sessions {
		run("octet by octet", s, 100*time.Millisecond, func() faults { return faults{pieces: func() int { return 1 }} })
		run("random pieces", s, 100*time.Millisecond, func() faults {
			return faults{pieces: piece}
		})
		run("slow pieces", s, 10*time.Second, func() faults {
			return faults{pieces: piece, delay: 20 * time.Millisecond}
		})
		run("a narrow path", s, 10*time.Second, func() faults { return faults{rate: 1000} })
		there, back := run("unsplit", s, 100*time.Millisecond, func() faults { return faults{} })
		for at := int64(1); at < max(there, back); at += int64(testmode.Count(1, 11)) {
			run(fmt.Sprintf("split at %d", at), s, 100*time.Millisecond, func() faults { return faults{splits: []int64{at}} })
			splits++
		}
	}
	t.Logf("%d splits", splits)
}
