package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMeasure builds the command and measures real connections briefly: once to write a file, and
// once to compare with it. The verdict about their speed depends on the machine.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	rddp, file := filepath.Join(dir, "rddp.exe"), filepath.Join(dir, "baseline.json")
	build := exec.Command("go", "build", "-o", rddp, "./cmd/rddp")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	args := []string{"-rddp", rddp, "-runs", "2", "-rounds", "1", "-time", "1ms"}
	var out, log strings.Builder
	if err := run(t.Context(), append(slices.Clone(args), "-write", file), &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	err := run(t.Context(), append(slices.Clone(args), file), &out, &log)
	if loss := (*LossError)(nil); err != nil && !errors.As(err, &loss) {
		t.Fatal(err, log.String())
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"16 rows, medians of 2 runs of 1 rounds", "cubic; pinned to CPU", "baseline: " + time.Now().Format("2006-"), "echo 4096 1 - on "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log has %s", &log)
	}
}

// TestTell: a comparison with another machine's baseline is reported as such.
func TestTell(t *testing.T) {
	b := testBaseline(t)
	m := &measurement{Date: time.Unix(2e9, 0).UTC(), System: "test/none, go2", Machine: "Abacus", Rounds: 15, Time: time.Second, Congestion: "cubic"}
	for _, tt := range []struct {
		machine string
		other   bool
	}{{"Abacus", false}, {"Enigma", true}} {
		m.Machine = tt.machine
		var w strings.Builder
		if m.tell(&w, b); strings.Contains(w.String(), "another machine") != tt.other || !strings.Contains(w.String(), "baseline: 2001-09-09, Abacus test/none, medians of 2 runs of 3 rounds") {
			t.Errorf("%s: %s", tt.machine, &w)
		}
	}
}

// TestWrongFiles: the program fails before it measures anything if the file is missing or does not
// fit, or if the command does not run.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	wrong, right := filepath.Join(dir, "wrong.json"), filepath.Join(dir, "right.json")
	var text strings.Builder
	if err := testBaseline(t).write(&text); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{wrong: `{"rows": []}`, right: text.String()} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := filepath.Join(dir, "none")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{wrong}, "the baseline does not fit"},
		{[]string{none}, "none"},
		{[]string{"-write", filepath.Join(dir, "no", "directory")}, "directory"},
		{[]string{"-rddp", none, right}, none + " perf: "},
		{[]string{"-rddp", none, "-write", right}, none + " perf: "},
		{nil, "usage: "},
		{[]string{"-none", right}, "-none"},
		{[]string{"-runs", "0", right}, "usage: "},
	} {
		if err := run(t.Context(), tt.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
	if kept, err := os.ReadFile(right); err != nil || string(kept) != text.String() {
		t.Errorf("the file is %q, %v", kept, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"kind":"settings","date":"2026-11-22T17:48:08Z","rounds":15,"time_ns":1000}` + "\n" + `{"kind":"result","op":"echo","crc":"on","size":64,"cpu_ratio_to_tcp":1.5}`))
	f.Add([]byte(`{"kind":"idle"}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		if m, err := parse(out); (m == nil) != (err != nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}
