package harness

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A seeded trial returns its seed and its number.
type seeded struct{ Seed, Number int }

func (s seeded) Run(context.Context) (seeded, error) { return s, nil }

// TestRoundsAddUp: rounds are added to earlier ones, with new seeds, in the order of the trials.
// With 0 rounds the existing raw results are drawn. Without -more everything is measured again.
func TestRoundsAddUp(t *testing.T) {
	document := filepath.Join(t.TempDir(), "some.md")
	if err := os.WriteFile(document, []byte("<!-- begin figures: make study-some writes them -->\n<!-- end figures -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []seeded
	study := Study[seeded, seeded]{
		Name:   "some",
		Trials: func(_ *Options, seed uint64) []seeded { return []seeded{{int(seed), 1}, {int(seed), 2}} },
		Figures: func(o *Options, outcomes []seeded) (string, map[string]string) {
			got = outcomes
			return o.Head(), nil
		},
	}
	measure := func(args ...string) error {
		o, err := Parse(study.Name, append(args, "-document", document), io.Discard, func(*flag.FlagSet) {})
		return study.Measure(t.Context(), &o, err, io.Discard)
	}
	first := []seeded{{1, 1}, {1, 2}, {2, 1}, {2, 2}}
	third := append(slices.Clone(first), seeded{3, 1}, seeded{3, 2})
	for i, step := range []struct {
		args []string
		want []seeded
	}{
		{[]string{"-rounds=2"}, first},
		{[]string{"-rounds=1", "-more"}, third},
		{[]string{"-rounds=0", "-more", "-revision=another"}, third},
		{[]string{"-rounds=2"}, first},
	} {
		if err := measure(step.args...); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
		page, err := os.ReadFile(document)
		if err != nil || !strings.Contains(string(page), "at an unknown revision, ") || !bytes.Contains(page, fmt.Appendf(nil, "%d rounds", len(got)/2)) {
			t.Errorf("step %d: %v, %s", i, err, page)
		}
	}
	if err := measure("-more", "-revision=another"); !errors.Is(err, errConditions) {
		t.Errorf("another revision: %v", err)
	}
}

// TestParse: invalid arguments are refused.
func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-rounds=0"}, {"-rounds=-1"}, {"-time=0"}, {"-more"}, {"file"}} {
		if _, err := Parse("some", args, io.Discard, func(*flag.FlagSet) {}); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
