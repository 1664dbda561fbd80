package main

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain is also the program of the processes that a trial starts.
func TestMain(m *testing.M) {
	if harness.IsPart() {
		main()
		return
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// TestTrial: with each way the load balancers see the state, and the outcome matches the moves.
func TestTrial(t *testing.T) {
	for _, way := range ways {
		o, err := trial{Way: way, Busy: 1, Time: 2 * period}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if o.Bursts != 2 || o.Wrong > o.Moves || o.Lost < 0 || o.Lost > 1 || way == wayStatic && o.Moves != 0 {
			t.Errorf("%s: %+v", way, o)
		}
	}
}

// TestSpare: a site with load gets a server without load, but never the last server of the other
// site.
func TestSpare(t *testing.T) {
	var s state
	for i := range nodes {
		s[sitesAt+i] = uint64(i % sites)
	}
	if got := spare(&s, 0); got != -1 {
		t.Errorf("without load: server %d", got)
	}
	s[loads], s[loads+7] = high+1, low
	if got := spare(&s, 0); got != 5 {
		t.Errorf("server %d, want 5", got)
	}
	for _, i := range []int{1, 3} {
		s[sitesAt+i] = 0
	}
	if got := spare(&s, 0); got != -1 {
		t.Errorf("the last one: server %d", got)
	}
}

// TestJudge: moves are judged by the site that has the burst, and by the servers that it needs.
func TestJudge(t *testing.T) {
	begin := time.Unix(0, 0)
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	moves := []move{
		{1, 0, after(10 * time.Millisecond)}, {3, 0, after(20 * time.Millisecond)}, // the site has all that it needs
		{5, 0, after(30 * time.Millisecond)}, {1, 1, after(40 * time.Millisecond)}, // wrong
	}
	slices.Reverse(moves)
	o := judge(trial{Time: 2 * period, Begin: begin}, moves)
	if o.Moves != 4 || o.Wrong != 2 || o.Met != 1 || o.First != 10 || o.All != 20 {
		t.Errorf("%+v", o)
	}
	if none := judge(trial{Time: 2 * period, Begin: begin}, nil); none.Lost <= 0 || none.Met != 0 {
		t.Errorf("without moves: %+v", none)
	}
}

// TestMessages: each operation answers with the word's previous value, and unknown operations are
// refused.
func TestMessages(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(first()); err != nil {
		t.Fatal(err)
	}
	p := &program{f: f}
	ask := func(op byte, word, first, second uint64) (uint64, error) {
		var m []byte
		for _, w := range []uint64{word, first, second} {
			m = binary.NativeEndian.AppendUint64(m, w)
		}
		answer, err := p.answer(op, m)
		if err != nil {
			return 0, err
		}
		return binary.NativeEndian.Uint64(answer), nil
	}
	for i, step := range []struct {
		op            byte
		first, second uint64
		want          uint64
	}{{opAdd, 3, 0, 0}, {opSwap, 2, 9, 3}, {opSwap, 3, 9, 3}, {opAdd, 1, 0, 9}, {opAdd, 0, 0, 10}} {
		if got, err := ask(step.op, locks, step.first, step.second); err != nil || got != step.want {
			t.Errorf("step %d: %d, %v; want %d", i, got, err, step.want)
		}
	}
	for _, wrong := range []struct {
		op   byte
		word uint64
	}{{'x', 0}, {opAdd, words}} {
		if _, err := ask(wrong.op, wrong.word, 0, 0); !errors.Is(err, errMessage) {
			t.Errorf("%c of word %d: %v", wrong.op, wrong.word, err)
		}
	}
}
