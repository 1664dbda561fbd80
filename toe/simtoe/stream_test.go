package simtoe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

// pair returns a connection that is closed at the end of the test.
func pair(t testing.TB, a, b simtoe.Config) (x, y *simtoe.Stream) {
	t.Helper()
	xs, ys := simtoe.Pair(a, b)
	t.Cleanup(func() {
		xs.Close()
		ys.Close()
	})
	return xs.(*simtoe.Stream), ys.(*simtoe.Stream)
}

// octets returns n bytes that do not repeat soon.
func octets(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(p)
	return p
}

// mustWrite writes p, for which the window must have room.
func mustWrite(t testing.TB, s toe.Stream, p []byte) {
	t.Helper()
	if n, err := s.Write(p); n != len(p) || err != nil {
		t.Fatalf("Write(%d octets) = %d, %v", len(p), n, err)
	}
}

// A shown is the result of one ReadSegment.
type shown struct {
	off   uint64
	n     int
	early bool
}

// readAll reads size bytes in order with one goroutine, compares every run with data, and returns
// the runs.
func readAll(t testing.TB, s toe.Stream, data []byte) (runs []shown) {
	t.Helper()
	p := make([]byte, len(data))
	for in := uint64(0); in < uint64(len(data)); {
		n, off, err := toetest.ReadSegment(s, p)
		if err != nil {
			t.Fatalf("ReadSegment at offset %d = %v", in, err)
		}
		if !bytes.Equal(p[:n], data[off:][:n]) {
			t.Fatalf("ReadSegment gave %d wrong octets at offset %d", n, off)
		}
		runs = append(runs, shown{off, n, off != in})
		if off == in {
			in += uint64(n)
		}
	}
	return runs
}

func TestNetConn(t *testing.T) {
	for _, cfg := range []simtoe.Config{
		{},
		{Seed: 1, MaxSegment: 100, Split: true, Window: 4096},
		{Seed: 2, Split: true, Delay: 20 * time.Microsecond},
	} {
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				a, b := simtoe.Pair(cfg, cfg)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	}
}

func TestRunLengths(t *testing.T) {
	data := octets(10_000)
	for _, test := range []struct {
		desc     string
		cfg      simtoe.Config
		min, max int // of all runs but the last
	}{
		{"no bound", simtoe.Config{}, 10_000, 10_000},
		{"of one size", simtoe.Config{MaxSegment: 999}, 999, 999},
		{"split at every octet", simtoe.Config{MaxSegment: 1}, 1, 1},
		{"split", simtoe.Config{MaxSegment: 10, Split: true}, 1, 10},
		{"split at EMSS", simtoe.Config{EMSS: 77, Split: true}, 1, 77},
		{"early without a bound", simtoe.Config{Early: 1e-9}, toe.DefaultEMSS, toe.DefaultEMSS},
	} {
		t.Run(test.desc, func(t *testing.T) {
			a, b := pair(t, test.cfg, simtoe.Config{})
			mustWrite(t, a, data)
			runs := readAll(t, b, data)
			least, most := len(data), 0
			for i, r := range runs {
				if i < len(runs)-1 || len(runs) == 1 {
					least, most = min(least, r.n), max(most, r.n)
				}
			}
			if least != test.min || most != test.max {
				t.Errorf("runs of %d to %d octets, want %d to %d", least, most, test.min, test.max)
			}
		})
	}
}

// TestSameSeedSameRuns checks that the runs depend on the seed and not on the writes.
func TestSameSeedSameRuns(t *testing.T) {
	data := octets(20_000)
	runs := func(seed uint64, side, piece int) []shown {
		cfg := simtoe.Config{Seed: seed, MaxSegment: 200, Split: true, Early: 0.4}
		a, b := pair(t, cfg, cfg)
		if side == 1 {
			a, b = b, a
		}
		for p := range slices.Chunk(data, piece) {
			mustWrite(t, a, p)
		}
		return readAll(t, b, data)
	}
	first := runs(1, 0, len(data))
	for _, piece := range []int{1, 37, 10_000} {
		if got := runs(1, 0, piece); !slices.Equal(got, first) {
			t.Errorf("written in pieces of %d octets, other runs", piece)
		}
	}
	if slices.Equal(runs(2, 0, len(data)), first) {
		t.Error("another seed, same runs")
	}
	if slices.Equal(runs(1, 1, len(data)), first) {
		t.Error("the other direction, same runs")
	}
}

// TestEarlyLeavesOrderAlone checks that the runs in order are the same with and without early runs
// between them.
func TestEarlyLeavesOrderAlone(t *testing.T) {
	data := octets(50_000)
	cfg := simtoe.Config{Seed: 3, MaxSegment: 300, Split: true}
	var inOrder [3][]shown
	var early [3]int
	for i, probability := range []float64{0, 0.5, 1} {
		cfg.Early = probability
		a, b := pair(t, cfg, cfg)
		mustWrite(t, a, data)
		for _, r := range readAll(t, b, data) {
			if r.early {
				early[i]++
			} else {
				inOrder[i] = append(inOrder[i], r)
			}
		}
	}
	if !slices.Equal(inOrder[1], inOrder[0]) || !slices.Equal(inOrder[2], inOrder[0]) {
		t.Error("early runs change what comes in order")
	}
	n := len(inOrder[0])
	if early[0] != 0 || early[1] < n*4/10 || early[1] > n*6/10 || early[2] != n-1 {
		t.Errorf("of %d runs %d were shown early, want none, about half, all but the first", n, early)
	}
}

// TestEarlyRuns checks that each early run comes after a gap, comes once, and is a run of the
// stream.
func TestEarlyRuns(t *testing.T) {
	data := octets(50_000)
	a, b := pair(t, simtoe.Config{Seed: 4, MaxSegment: 300, Split: true, Early: 0.5}, simtoe.Config{})
	mustWrite(t, a, data)
	early := make(map[uint64]int)
	in, shown := uint64(0), 0
	for _, r := range readAll(t, b, data) {
		if !r.early {
			if n := early[r.off]; n != 0 && n != r.n {
				t.Errorf("run at offset %d: %d octets early, %d in order", r.off, n, r.n)
			}
			delete(early, r.off)
			in += uint64(r.n)
			continue
		}
		if r.off <= in {
			t.Errorf("early run at offset %d with %d in order: no gap", r.off, in)
		}
		if early[r.off] != 0 {
			t.Errorf("run at offset %d was shown early twice", r.off)
		}
		early[r.off] = r.n
		shown++
	}
	if shown < 50 { // of some 300 runs
		t.Errorf("%d runs were shown early", shown)
	}
	if len(early) != 0 {
		t.Errorf("%d early runs began where no run does", len(early))
	}
}

// TestEarlyRunIntoSmallBuffer checks that the rest of an early run is dropped.
func TestEarlyRunIntoSmallBuffer(t *testing.T) {
	data := octets(40)
	a, b := pair(t, simtoe.Config{MaxSegment: 20, Early: 1}, simtoe.Config{})
	mustWrite(t, a, data)
	p := make([]byte, 4)
	for i, want := range []uint64{20, 0, 4, 8, 12, 16, 20, 24, 28, 32, 36} {
		n, off, err := toetest.ReadSegment(b, p)
		if n != 4 || off != want || err != nil || !bytes.Equal(p, data[off:][:4]) {
			t.Errorf("ReadSegment %d = %d, %d, %v, want 4, %d, nil", i, n, off, err, want)
		}
	}
}

// TestReadKnowsNoEarlyRuns checks that Read and Pending ignore early runs, even before anything has
// arrived in order.
func TestReadKnowsNoEarlyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := octets(10_000)
		a, b := pair(t, simtoe.Config{Seed: 5, Split: true, Early: 1, Delay: time.Second}, simtoe.Config{})
		mustWrite(t, a, data)
		got := make([]byte, len(data))
		for n := 0; n < len(got); {
			before, err := b.Pending()
			if err != nil || n == 0 && before != 0 {
				t.Fatalf("Pending() = %d, %v before anything has arrived", before, err)
			}
			m, err := b.Read(got[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += m
		}
		if !bytes.Equal(got, data) {
			t.Error("Read gave octets out of order")
		}
	})
}

func TestWindow(t *testing.T) {
	a, b := pair(t, simtoe.Config{Window: 10}, simtoe.Config{})
	if n, err := a.TryWriteBatch([][]byte{octets(4), nil, octets(9)}); n != 10 || err != nil {
		t.Errorf("TryWriteBatch = %d, %v, want 10, nil", n, err)
	}
	if n, err := a.TryWriteBatch([][]byte{octets(1)}); n != 0 || err != nil {
		t.Errorf("TryWriteBatch into a full window = %d, %v, want 0, nil", n, err)
	}
	if n, err := b.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Errorf("Read = %d, %v, want 3, nil", n, err)
	}
	if n, err := a.TryWriteBatch([][]byte{octets(4)}); n != 3 || err != nil {
		t.Errorf("TryWriteBatch into the rest = %d, %v, want 3, nil", n, err)
	}
}

// TestWritesDoNotMix checks that the bytes of concurrent Writes that wait for room do not mix.
func TestWritesDoNotMix(t *testing.T) {
	const writers, size = 5, 1000
	a, b := pair(t, simtoe.Config{Window: 10}, simtoe.Config{})
	errs := make(chan error, writers)
	for i := range writers {
		go func() {
			_, err := a.Write(bytes.Repeat([]byte{byte(i)}, size))
			errs <- err
		}()
	}
	got := make([]byte, writers*size)
	if _, err := io.ReadFull(b, got); err != nil {
		t.Fatal(err)
	}
	for p := range slices.Chunk(got, size) {
		if !bytes.Equal(p, bytes.Repeat(p[:1], size)) {
			t.Errorf("a Write was cut by another: % x", p)
		}
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestEMSS(t *testing.T) {
	a, b := pair(t, simtoe.Config{EMSS: 536}, simtoe.Config{})
	if got := a.EMSS(); got != 536 {
		t.Errorf("EMSS() = %d, want 536", got)
	}
	if got := b.EMSS(); got != toe.DefaultEMSS {
		t.Errorf("EMSS() = %d, want %d", got, toe.DefaultEMSS)
	}
	a.SetEMSS(512)
	if got := a.EMSS(); got != 512 {
		t.Errorf("EMSS() = %d after SetEMSS(512)", got)
	}
}

// TestDelay checks that bytes arrive after at most Delay, in order, not all at once, and all before
// the FIN.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = time.Second
		data := octets(10_000)
		a, b := pair(t, simtoe.Config{Seed: 7, MaxSegment: 100, Split: true, Delay: most}, simtoe.Config{})
		start := time.Now()
		mustWrite(t, a, data)
		if n, err := b.Pending(); n == len(data) || err != nil {
			t.Errorf("Pending() = %d, %v at once, want less", n, err)
		}
		a.Close()
		readAll(t, b, data)
		if d := time.Since(start); d == 0 || d > most {
			t.Errorf("all octets arrived after %v, want at most %v", d, most)
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Read behind the end = %v, want io.EOF", err)
		}
	})
}

// TestLongestDelay: Delay may be the longest time.Duration. Then bytes are on their way for years,
// and so is the end after them.
func TestLongestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, simtoe.Config{Delay: math.MaxInt64}, simtoe.Config{})
		if _, err := a.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
		b.SetReadDeadline(time.Now().Add(time.Hour))
		if n, err := b.Read(make([]byte, 4)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after an hour: %d, %v", n, err)
		}
		b.SetReadDeadline(time.Time{})
		begin := time.Now()
		if n, err := b.Read(make([]byte, 4)); n != 4 || err != nil || time.Since(begin) < 24*time.Hour {
			t.Errorf("%d, %v after %v", n, err, time.Since(begin))
		}
	})
}

// TestDelayIsOfTheSeed checks that the same seed gives the same delays.
func TestDelayIsOfTheSeed(t *testing.T) {
	arrivals := func() (at []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			data := octets(2000)
			a, b := pair(t, simtoe.Config{Seed: 8, MaxSegment: 100, Split: true, Delay: time.Second}, simtoe.Config{})
			start := time.Now()
			mustWrite(t, a, data)
			for n := 0; n < len(data); {
				m, err := b.Read(make([]byte, 100))
				if err != nil {
					t.Fatal(err)
				}
				n += m
				at = append(at, time.Since(start))
			}
		})
		return at
	}
	if x, y := arrivals(), arrivals(); !slices.Equal(x, y) {
		t.Errorf("arrivals %v, then %v", x, y)
	}
}

// TestDeadlines checks that waits end exactly at their deadline, and not at an earlier one that was
// moved.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, simtoe.Config{Window: 1}, simtoe.Config{})
		start := time.Now()
		a.SetDeadline(start.Add(time.Second))
		a.SetDeadline(start.Add(time.Minute))
		if _, _, err := toetest.ReadSegment(a, make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("ReadSegment = %v, want os.ErrDeadlineExceeded", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("deadline after %v, want %v", d, time.Minute)
		}
		a.SetDeadline(time.Time{})
		go func() {
			time.Sleep(time.Hour)
			a.SetWriteDeadline(time.Now().Add(-1))
		}()
		if err := toetest.WriteBatch(a, [][]byte{{1, 2}}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("WriteBatch = %v, want os.ErrDeadlineExceeded", err)
		}
		if d := time.Since(start); d != time.Minute+time.Hour {
			t.Errorf("deadline after %v, want %v", d, time.Minute+time.Hour)
		}
	})
}

// TestBubbleIsIdle checks that all waiting goroutines are durably blocked, and that Close wakes
// them.
func TestBubbleIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, simtoe.Config{Window: 10}, simtoe.Config{})
		errs := make(chan error, 3)
		go func() { _, _, err := toetest.ReadSegment(a, make([]byte, 1)); errs <- err }()
		go func() { errs <- toetest.WriteBatch(a, [][]byte{octets(100)}) }()
		go func() { _, err := a.Read(make([]byte, 1)); errs <- err }()
		synctest.Wait()
		if len(errs) != 0 {
			t.Errorf("%d calls did not wait", len(errs))
		}
		a.Close()
		for range 3 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("after Close: %v, want net.ErrClosed", err)
			}
		}
		// What was in the window arrives, then the FIN.
		if got, err := io.ReadAll(b); len(got) != 10 || err != nil {
			t.Errorf("the peer read %d octets, %v, want 10, nil", len(got), err)
		}
	})
}
