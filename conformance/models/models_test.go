//go:build models

package models

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	// maxTime bounds each command. The longest search takes seconds.
	maxTime = 3 * time.Minute
	// maxMemory is what a search may use, in MB; maxDepth is how many steps a run may have.
	// A search that meets either bound is not complete, which is an error here.
	maxMemory = "-DMEMLIM=900"
	maxDepth  = "-m300000"
)

// A search is one of all states of a model.
type search struct {
	desc  string
	model string
	defs  string // macros, separated by spaces
	live  bool   // looks for cycles without progress, instead of states without an end
	whole bool   // must reach every statement: none may pass only because it never happens
}

// What pan says about each sort of error.
const (
	deadlock    = "invalid end state"
	livelock    = "non-progress cycle"
	noBuffer    = "assertion violated ((q_len(link[me])+held[(1-me)])<"
	notConserve = "+carried[" // in "assertion violated (credits[x]+…+carried[1-x])==N)"
	wrongTarget = "assertion violated (target[(1-me)]==n)"
)

// good are the searches that must find no error.
var good = []search{
	{"4 buffers", "credits.pml", "-DN=4 -DR=2 -DT=2 -DLATE", false, true},
	{"4 buffers", "credits.pml", "-DN=4 -DR=2 -DT=2 -DLATE", true, true},
	{"4 buffers, an end never reads", "credits.pml", "-DN=4 -DR=2 -DT=2 -DNEVER", false, false},
	{"4 buffers, an end never reads", "credits.pml", "-DN=4 -DR=2 -DT=2 -DNEVER", true, false},
	{"5 buffers, no deadline", "credits.pml", "-DN=5 -DR=2 -DT=2 -DLATE -DNO_CANCEL", false, false},
	{"5 buffers, no deadline", "credits.pml", "-DN=5 -DR=2 -DT=2 -DLATE -DNO_CANCEL", true, false},
	{"5 buffers, an end never reads", "credits.pml", "-DN=5 -DR=2 -DT=2 -DNEVER", false, false},
	{"6 buffers, no deadline", "credits.pml", "-DN=6 -DR=3 -DT=3 -DLATE -DNO_CANCEL", false, false},
	{"6 buffers, no deadline", "credits.pml", "-DN=6 -DR=3 -DT=3 -DLATE -DNO_CANCEL", true, false},
	{"6 buffers, an end never reads", "credits.pml", "-DN=6 -DR=3 -DT=3 -DNEVER", false, false},
	// With control messages counted apart, the threshold may be above the reserve.
	{"5 buffers, counted apart, an end never reads", "credits.pml", "-DN=5 -DR=2 -DT=3 -DAPART -DNEVER", false, false},
	{"5 buffers, counted apart, no deadline", "credits.pml", "-DN=5 -DR=2 -DT=3 -DAPART -DLATE -DNO_CANCEL", false, false},
	{"5 buffers, counted apart, no deadline", "credits.pml", "-DN=5 -DR=2 -DT=3 -DAPART -DLATE -DNO_CANCEL", true, false},
	// Without rendezvous a reserve of one is enough.
	{"3 buffers, no rendezvous", "credits.pml", "-DN=3 -DR=1 -DT=2 -DLATE -DNO_OFFER", false, false},
	{"3 buffers, no rendezvous", "credits.pml", "-DN=3 -DR=1 -DT=2 -DLATE -DNO_OFFER", true, false},
	{"5 buffers, no rendezvous", "credits.pml", "-DN=5 -DR=1 -DT=4 -DLATE -DNO_OFFER", false, false},
}

// broken are the searches that must find an error, with what pan says about it.
var broken = []struct {
	search
	want string
}{
	{search{"3 buffers", "credits.pml", "-DLATE -DN=3", false, false}, deadlock},
	{search{"reserve of one", "credits.pml", "-DLATE -DR=1", false, false}, deadlock},
	{search{"reserve of one, not for GRANT", "credits.pml", "-DLATE -DR=1 -DGRANT_NEEDS=2", false, false}, deadlock},
	{search{"threshold above the reserve", "credits.pml", "-DLATE -DN=5 -DT=3", false, false}, deadlock},
	{search{"threshold of all buffers", "credits.pml", "-DLATE -DT=4", false, false}, deadlock},
	{search{"threshold of one", "credits.pml", "-DLATE -DT=1", true, false}, livelock},
	{search{"DATA takes the last credit", "credits.pml", "-DLATE -DDATA_NEEDS=1", false, false}, deadlock},
	{search{"OFFER takes the last credit", "credits.pml", "-DLATE -DOFFER_NEEDS=1", false, false}, deadlock},
	{search{"FIN takes the last credit", "credits.pml", "-DLATE -DFIN_NEEDS=1", false, false}, deadlock},
	{search{"no rendezvous, DATA takes the only credit reserved", "credits.pml", "-DLATE -DNO_OFFER -DR=1 -DDATA_NEEDS=1", false, false}, deadlock},
	{search{"no rendezvous, FIN takes the only credit reserved", "credits.pml", "-DLATE -DNO_OFFER -DR=1 -DFIN_NEEDS=1", false, false}, deadlock},
	{search{"CANCEL takes the last credit", "credits.pml", "-DLATE -DCANCEL_NEEDS=1", false, false}, deadlock},
	{search{"GRANT leaves a credit to UPDATE", "credits.pml", "-DLATE -DGRANT_NEEDS=2", false, false}, deadlock},
	{search{"GRANT keeps to the reserve", "credits.pml", "-DLATE -DGRANT_NEEDS=3", false, false}, deadlock},
	{search{"UPDATE leaves a credit to GRANT", "credits.pml", "-DLATE -DUPDATE_NEEDS=2", false, false}, deadlock},
	{search{"GRANT waits behind DATA", "credits.pml", "-DLATE -DGRANT_IN_ORDER", false, false}, deadlock},
	{search{"GRANT has no number", "credits.pml", "-DLATE -DGRANT_UNNUMBERED", false, false}, wrongTarget},
	{search{"UPDATE uses no credit", "credits.pml", "-DLATE -DUPDATE_FREE -DNO_MONITOR", false, false}, noBuffer},
	{search{"UPDATE uses no credit, monitored", "credits.pml", "-DLATE -DUPDATE_FREE", false, false}, notConserve},
	{search{"owed is kept", "credits.pml", "-DLATE -DOWED_KEPT -DNO_MONITOR", false, false}, noBuffer},
	{search{"owed is kept, monitored", "credits.pml", "-DLATE -DOWED_KEPT", false, false}, notConserve},
}

func TestModels(t *testing.T) {
	for _, s := range good {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			out := s.run(t, "-O2")
			if !strings.Contains(out, "errors: 0\n") || !complete(out) {
				t.Fatalf("spin %s: not a complete search without errors:\n%s", s.defs, out)
			}
			if s.whole {
				s.reached(t, out)
			}
			t.Logf("%s states, %s MB", find(out, `([0-9.e+]+) states, stored`), find(out, `([0-9.]+)\s+total actual memory`))
		})
	}
}

func TestBrokenModels(t *testing.T) {
	for _, b := range broken {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			out := b.run(t, "-O0") // It ends at the first error: to compile it takes longest.
			if got := find(out, `(?m)^pan:1: (.*) \(at depth`); !strings.Contains(got, b.want) {
				t.Fatalf("spin %s: found %q, want %q:\n%s", b.defs, got, b.want, out)
			}
		})
	}
}

// reached fails the test for each statement that a search has not reached.
func (s search) reached(t *testing.T, out string) {
	t.Helper()
	_, unreached, found := strings.Cut(out, "unreached in ")
	if !found {
		t.Fatalf("spin %s: pan does not tell what it has not reached:\n%s", s.defs, out)
	}
	for line := range strings.Lines(unreached) {
		if strings.Contains(line, ", state ") && !strings.Contains(line, `"-end-"`) {
			t.Errorf("spin %s: not reached: %s", s.defs, strings.TrimSpace(line))
		}
	}
}

func (s search) String() string {
	name := strings.TrimSuffix(s.model, ".pml") + "/" + s.desc
	if s.live {
		name += ", progress"
	}
	return name
}

// run has spin make the search and returns what it says. It fails the test only if there is no search.
func (s search) run(t *testing.T, optimize string) string {
	t.Helper()
	model, err := filepath.Abs(s.model)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	defs := strings.Fields(s.defs)
	kind, options := "-DSAFETY", []string{maxDepth}
	if s.live {
		kind, options = "-DNP", append(options, "-l")
	}
	// A macro that the model does not know would break nothing.
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defs {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, "-D"), "=")
		if !regexp.MustCompile(`#ifn?def ` + name + `\b`).Match(text) {
			t.Fatalf("%s has no macro %s", s.model, name)
		}
	}
	command(t, dir, "spin", append(defs, "-a", model)...)
	command(t, dir, "gcc", "-w", optimize, kind, maxMemory, "-o", "pan", "pan.c")
	out := command(t, dir, "./pan", options...)
	if !strings.Contains(out, "State-vector ") {
		t.Fatalf("spin %s: no search:\n%s", s.defs, out)
	}
	return out
}

// complete reports whether a search saw all states.
func complete(out string) bool {
	for _, sign := range []string{"Search not completed", "max search depth too small", "reached -DMEMLIM", "out of memory", "hash-compact", "Bit statespace"} {
		if strings.Contains(out, sign) {
			return false
		}
	}
	return strings.Contains(out, "Full statespace search for:")
}

// command runs a command in dir and returns its output, of both sorts.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && !strings.HasPrefix(name, "./") {
		t.Fatalf("%v: install Debian's spin and gcc (./.ci/install spin gcc libc6-dev)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), maxTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// find returns what the first group of pattern matches in out, "" if nothing.
func find(out, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}
