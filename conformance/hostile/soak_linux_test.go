//go:build soak

package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// soakFile contains the results of earlier runs. TestSoak adds a line.
const soakFile = "../soak.md"

// A soak is one run.
type soak struct {
	pairs                                                   *socketPairs
	sessions, faults, harmed, races, bulks, octets, flushed atomic.Int64
	failures                                                atomic.Int64
}

// TestSoak runs sessions, transfers and races of close and post, many at a time and most of them
// with random faults, for the time in SOAKTIME. Each delivers correct octets or a clean error, and
// in the end nothing is left.
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SOAKTIME"))
	if err != nil {
		t.Fatalf("SOAKTIME: %v", err)
	}
	seed := uint64(time.Now().UnixNano())
	if env := os.Getenv("RDDP_SEED"); env != "" {
		if _, err := fmt.Sscan(env, &seed); err != nil {
			t.Fatal(err)
		}
	}
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	t.Logf("seed %d, %v", seed, duration)
	s := &soak{pairs: newSocketPairs(t)}
	s.run(t, seed^1, time.Now().Add(2*time.Second)) // fills the pools and the runtime's caches
	settled(t, 2)
	before := footprintNow(t)
	s = &soak{pairs: s.pairs}
	begin := time.Now()
	s.run(t, seed, begin.Add(duration))
	settled(t, before.goroutines)
	after := footprintNow(t)
	t.Logf("before %+v, after %+v", before, after)
	if after.fds != before.fds || after.heap-before.heap > 4<<20 {
		s.failures.Add(1)
		t.Error("something is left")
	}
	line := fmt.Sprintf("| %s | %s | %v | %d | %d | %d | %d | %d | %d | %.1f | %+d | %+d | %d |\n", begin.UTC().Format("2006-01-02"), bytes.TrimSpace(commit),
		time.Since(begin).Round(time.Second), seed, s.sessions.Load(), s.faults.Load(), s.harmed.Load(), s.races.Load(), s.bulks.Load(),
		float64(s.octets.Load())/1e9, after.fds-before.fds, (after.rss-before.rss)>>10, s.failures.Load())
	t.Log(line)
	f, err := os.OpenFile(soakFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(line); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// run keeps a dozen goroutines busy until a time.
func (s *soak) run(t *testing.T, seed uint64, until time.Time) {
	var wg sync.WaitGroup
	for w := range 12 {
		rnd := rand.New(rand.NewPCG(seed, uint64(w)))
		wg.Go(func() {
			for time.Now().Before(until) {
				var err error
				switch n := rnd.IntN(20); {
				case n < 14:
					err = s.session(rnd)
				case n < 17:
					err = s.bulk(rnd)
				default:
					err = s.race(rnd)
				}
				if err != nil {
					s.failures.Add(1)
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// randomFaults returns no faults, or some that may be harmful.
func randomFaults(rnd *rand.Rand, length int64) (f faults, harmful bool) {
	if rnd.IntN(2) == 0 {
		most := 1 + rnd.IntN(200)
		mu := sync.Mutex{}
		f.pieces = func() int { mu.Lock(); defer mu.Unlock(); return 1 + rnd.IntN(most) }
	}
	switch rnd.IntN(8) {
	case 0, 1:
		f.cut, f.cutAt = fin, rnd.Int64N(length)
	case 2, 3:
		f.cut, f.cutAt = rst, rnd.Int64N(length)
	case 4, 5:
		f.flip, f.flipAt, f.flipBit = true, 60+rnd.Int64N(length), rnd.IntN(8)
	case 6: // the delay is for each piece: with pieces of one byte, a session would not end in time on a busy machine
		f.pieces = nil
		f.delay = time.Duration(rnd.IntN(1000)) * time.Microsecond
	case 7:
		return f, false
	}
	return f, true
}

func (s *soak) session(rnd *rand.Rand) error {
	x := &sessions[rnd.IntN(len(sessions))]
	// The proxy's two lanes draw at the same time, so each has a source of its own.
	there, harm := randomFaults(rand.New(rand.NewPCG(rnd.Uint64(), 1)), 1300)
	back := faults{}
	if rnd.IntN(2) == 0 {
		there, back = back, there
	}
	o, p, err := x.through(s.pairs, there, back)
	if err != nil {
		return err
	}
	s.sessions.Add(1)
	s.octets.Add(p.there.passed + p.back.passed)
	hit := p.there.hit || p.back.hit
	if hit {
		s.faults.Add(1)
	}
	if err := o.check(x); err != nil {
		return fmt.Errorf("%s, %+v, %+v: %w", x.Name, there, back, err)
	}
	if o.clean() != nil {
		if s.harmed.Add(1); !harm || !hit {
			return fmt.Errorf("%s without a fault, %+v, %+v: %w", x.Name, there, back, o.clean())
		}
	}
	return nil
}

func (s *soak) race(rnd *rand.Rand) error {
	cut := simtoe.Config{Seed: rnd.Uint64()}
	closers := rnd.IntN(4)
	if closers == 3 {
		cut.CutHow, cut.CutAfter = simtoe.CutHow(rnd.IntN(2)), 100+rnd.Int64N(1000)
	}
	_, flushed, _, err := connRace(cut, closers)
	s.races.Add(1)
	s.flushed.Add(int64(flushed))
	return err
}

// bulk moves random amounts in both directions at once through a proxy, by the byte stream and
// partly by RDMA.
func (s *soak) bulk(rnd *rand.Rand) error {
	a, b, err := s.pairs.pair()
	if err != nil {
		return err
	}
	c, d, err := s.pairs.pair()
	if err != nil {
		return err
	}
	n := 1 + rnd.IntN(4<<20)
	var there faults
	if cut := rnd.IntN(4); cut == 0 {
		there.cut, there.cutAt = rst, rnd.Int64N(2*int64(n))
	}
	p := newProxy(b, c, there, faults{})
	defer p.close()
	cfg := &extsock.Config{Crossover: []int{0, -1, 16 << 10}[rnd.IntN(3)], Markers: rnd.IntN(2) == 0, MaxFPDU: []int{0, 1460}[rnd.IntN(2)]}
	ends := [2]*extsock.Conn{extsock.NewConn(a, true, cfg), extsock.NewConn(d, false, cfg)}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(data)
	memory := [2][]byte{make([]byte, n), make([]byte, n)}
	sink := [2][]byte{make([]byte, n), make([]byte, n)}
	var handles [2]rdmap.Handle
	var got [2][]byte
	var errs [4]error
	var wg sync.WaitGroup
	for i, e := range ends {
		e.SetDeadline(time.Now().Add(time.Minute))
		r, err := e.Register(memory[i], ddp.RemoteRead|ddp.RemoteWrite)
		if err != nil {
			return err
		}
		handles[i] = r.Handle()
	}
	for i, e := range ends {
		wg.Go(func() { errs[i] = e.EnableDDP(ctx, nil) })
	}
	wg.Wait()
	for i, e := range ends {
		if errs[i] != nil {
			continue
		}
		wg.Go(func() { got[i], errs[i] = io.ReadAll(e) })
		wg.Go(func() {
			m := e.Remote(handles[1-i])
			_, err := m.WriteAt(data, 0)
			if err == nil {
				_, err = m.ReadAt(sink[i], 0)
			}
			if err == nil {
				_, err = e.Write(data)
			}
			if err == nil {
				err = e.CloseWrite()
			}
			errs[2+i] = err
		})
	}
	wg.Wait()
	for _, e := range ends {
		e.Close()
	}
	s.bulks.Add(1)
	s.octets.Add(p.there.passed + p.back.passed)
	if err := errors.Join(errs[:]...); err != nil {
		if there.cut == noCut || !isTyped(err) {
			return fmt.Errorf("bulk of %d octets, cut %v at %d: %w", n, there.cut, there.cutAt, err)
		}
		return nil
	}
	want := sha256.Sum256(data)
	for i := range ends {
		for _, b := range [][]byte{got[i], sink[i], memory[i]} {
			if sha256.Sum256(b) != want {
				return fmt.Errorf("bulk of %d octets: %w", n, &scenario.WrongOctets{Where: "SHA-256 differs"})
			}
		}
	}
	return nil
}
