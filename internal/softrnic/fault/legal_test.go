package fault

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLiberties(t *testing.T) {
	for _, tt := range []struct {
		specs string
		want  []Liberty
	}{
		{"seed=1", nil},
		{"legal=bytes", []Liberty{Bytes}},
		{"legal=bytes,legal=rnr", []Liberty{Bytes, RNR}},
		{"legal=-work,legal=-bytes,legal=-keys,legal=-gids,legal=-rnr", []Liberty{Completions, Events, Undefined, Sizes}},
		{"legal,legal=-work", []Liberty{Completions, Events, Bytes, RNR, GIDs, Keys, Undefined, Sizes}},
	} {
		i := injector(t, tt.specs)
		var got []Liberty
		for l := range liberties {
			if i.Takes(l) {
				got = append(got, l)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.specs, got, tt.want)
		}
		i.Report()
	}
	for _, spec := range []string{"legal=", "legal=byte", "legal=--bytes", "legal@3"} {
		if _, err := Parse([]string{spec}); (err == nil) != (spec == "legal=") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestReport: the log has the seed, and what was done.
func TestReport(t *testing.T) {
	p, err := Parse([]string{"legal=bytes,legal=rnr,seed=7"})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	i := New(p, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		i.Took(RNR)
	}
	i.Dice(Bytes).Split(100)
	if i.Report(); !strings.HasSuffix(log.String(), "level=WARN msg=legal seed=7 bytes=1 rnr=3\n") {
		t.Errorf("the log has %q", log.String())
	}
}

// TestDice: the decisions for the k-th object follow from the seed.
func TestDice(t *testing.T) {
	decide := func(seed int) (all []string) {
		i := injector(t, fmt.Sprintf("legal,seed=%d", seed))
		for range 3 {
			d := i.Dice(Completions)
			s := ""
			for range 20 {
				s += fmt.Sprint(d.Delay(), d.Few(), " ")
			}
			all = append(all, s)
		}
		return all
	}
	one, other := decide(1), decide(2)
	if !slices.Equal(one, decide(1)) {
		t.Error("the same seed decides differently")
	}
	if all := slices.Concat(one, other); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Error("two objects, or two seeds, have the same decisions")
	}
	if injector(t, "legal=bytes").Dice(Completions) != nil {
		t.Error("a liberty that is not taken has dice")
	}
}

// TestDelay: something is often not late, and never later than longDelay.
func TestDelay(t *testing.T) {
	d := injector(t, "legal").Dice(Work)
	none, long := 0, 0
	for range 1000 {
		switch x := d.Delay(); {
		case x < 0 || x >= longDelay:
			t.Fatalf("it is %v late", x)
		case x == 0:
			none++
		case x > soonDelay:
			long++
		}
	}
	if none < 300 || none > 450 || long < 50 {
		t.Errorf("%d of 1000 are in time, and %d long after it", none, long)
	}
}

// TestSplit: the parts are the whole, each byte once, and the beginning of what is longer than a
// word is late.
func TestSplit(t *testing.T) {
	d := injector(t, "legal").Dice(Bytes)
	some := false
	for n := range 300 {
		for range 20 {
			now, later := d.Split(n)
			placed := make([]int, n)
			for _, p := range append([]Part{now}, later...) {
				for i := p.From; i < p.To; i++ {
					placed[i]++
				}
			}
			if n > 0 && (slices.Min(placed) != 1 || slices.Max(placed) != 1) {
				t.Fatalf("%d bytes: %v, %v", n, now, later)
			}
			if (n > word) != (now.From > 0 || now.To == 0) && n > 0 {
				t.Fatalf("%d bytes: %v is placed at once", n, now)
			}
			some = some || now.To == n && now.From == (n-1)/word*word && n > word
		}
	}
	if !some {
		t.Error("the last word is never placed first")
	}
}

// TestLate: things come out when they are due, in the order of their stream, each once.
func TestLate(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var l Late[[2]int]
		now := time.Unix(0, 0)
		var next, got [3]int
		overtakes, last := false, -1
		for step := 0; l.Len() > 0 || step < 50; step++ {
			if step < 50 {
				s := r.IntN(len(next))
				l.Add([2]int{s, next[s]}, uint64(s), now.Add(time.Duration(r.IntN(100))*time.Microsecond))
				next[s]++
			}
			now = now.Add(time.Duration(r.IntN(30)) * time.Microsecond)
			due, ok := l.Next()
			out := l.Take(now, 2)
			if len(out) > 2 || (len(out) > 0) != (ok && !due.After(now)) {
				t.Fatalf("seed %d: %v come out at %v, and the first was due at %v", seed, out, now, due)
			}
			if after, ok := l.Next(); ok && len(out) == 2 && after.Before(now.Add(gap)) {
				t.Fatalf("seed %d: after two, the next one is due at %v, and it is %v", seed, after, now)
			}
			for _, x := range out {
				if x[1] != got[x[0]] {
					t.Fatalf("seed %d: %d of stream %d comes out in place of %d", seed, x[1], x[0], got[x[0]])
				}
				got[x[0]]++
				overtakes = overtakes || x[0] < last
				last = x[0]
			}
		}
		if got != next || !overtakes {
			t.Fatalf("seed %d: %v of %v come out, overtaking: %t", seed, got, next, overtakes)
		}
	}
}

func TestTakeAll(t *testing.T) {
	var l Late[int]
	for i := range 5 {
		l.Add(i, 1, time.Unix(int64(-i), 0))
	}
	if got := l.TakeAll(); !slices.Equal(got, []int{0, 1, 2, 3, 4}) || l.Len() != 0 {
		t.Errorf("%v, and %d are left", got, l.Len())
	}
}

// TestLateRest: what Take leaves comes out a little later, and what is due later stays where it is.
func TestLateRest(t *testing.T) {
	var l Late[int]
	start := time.Unix(0, 0)
	for i := range 5 {
		l.Add(i, 0, start.Add(time.Duration(i)*time.Microsecond))
	}
	far := start.Add(gap + time.Second)
	l.Add(5, 0, far)
	now := start.Add(2 * time.Microsecond)
	for k, want := range []int{2, 2, 1, 0} {
		if n := len(l.Take(now, 2)); n != want {
			t.Errorf("take %d: %d things, want %d", k, n, want)
		}
		if len(l.Take(now, 2)) != 0 {
			t.Errorf("take %d: more at once", k)
		}
		now = now.Add(gap)
	}
	if due, _ := l.Next(); due != far {
		t.Errorf("the last one is due at %v, want %v", due, far)
	}
}
