package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/conformance/lab/report"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/mpa"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

// TestTrial runs short trials. Whatever the speed of the machine: the bytes arrive, the record and
// the link agree about them, and payload behind a gap is in place before the gap closes exactly if
// early placement is on. A gap exists for at least two delays of the link. If the machine delays
// the receiver for longer, the receiver finds the gap closed, so such a trial runs again over a
// slower link.
func TestTrial(t *testing.T) {
	const slowest = 50 * time.Millisecond // the last delay is at most twice that, and a trial ends within its bound
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("early placement %t", early), func(t *testing.T) {
			n := network{name: "test", rate: 100e6, delay: 3 * time.Millisecond}
			run := func() outcome {
				o, err := trial{network: n, connections: 2, loss: 0.02, early: early, seed: 1, least: 30}.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			o := run()
			for early && o.heldTime == o.waitingTime && n.delay < slowest {
				n.delay *= 2
				o = run()
			}
			t.Logf("%d bytes, %d segments, %d behind a gap; %v", o.bytes, len(o.all), len(o.behind), o.stats.EarlyFPDUs)
			if len(o.all) < 10 || len(o.behind) == 0 || o.most.held == 0 || o.open > o.elapsed {
				t.Errorf("%d segments, %d behind a gap; at most %d bytes behind it, for %v of %v",
					len(o.all), len(o.behind), o.most.held, o.open, o.elapsed)
			}
			if gain := o.heldTime - o.waitingTime; (gain > 0) != early || (o.stats.EarlyFPDUs > 0) != early {
				t.Errorf("%v byte seconds behind gaps, %v of them not in place; %d FPDUs placed early", o.heldTime, o.waitingTime, o.stats.EarlyFPDUs)
			}
			if o.stats.SavedCopies != o.stats.EarlyFPDUs || o.most.waiting > o.most.held {
				t.Errorf("%d copies were saved by %d FPDUs placed early; %d bytes waited of %d", o.stats.SavedCopies, o.stats.EarlyFPDUs, o.most.waiting, o.most.held)
			}
			for _, d := range o.all {
				if d < 0 {
					t.Errorf("payload was in place %v before it arrived", -d)
				}
			}
		})
	}
}

// inPlace reports which FPDUs are in place.
func (r *record) inPlace() (list []bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.fpdus {
		list = append(list, f.done)
	}
	return list
}

// TestRecord: a record detects payload that is not in place, and a Region with wrong bytes.
func TestRecord(t *testing.T) {
	const base = 1 << 40
	r := newRecord(time.Now())
	r.start(base)
	tail := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for i, at := range []uint64{0, 40} {
		data := ddp.TaggedHeader{STag: 1, TO: base + at}.AppendTo(nil)
		r.add(&mpa.ULPDU{Off: uint64(100 * i), Size: 100, Data: append(append(data, make([]byte, 10)...), tail...)})
	}
	r.add(&mpa.ULPDU{Off: 200, Size: 50, Data: ddp.UntaggedHeader{}.AppendTo(nil)}) // has no place in the Region
	copy(r.memory[50:], tail)
	r.look(span{0, 250})
	if got := r.inPlace(); !slices.Equal(got, []bool{false, true}) {
		t.Errorf("in place: %v, want the second", got)
	}
	copy(r.memory[10:], tail)
	r.look(span{0, 99})
	r.end()
	if r.inPlace()[0] {
		t.Error("an FPDU is in place that has not arrived completely")
	}
	select {
	case <-r.done:
		t.Error("done with an FPDU that is not in place")
	default:
	}
	r.look(span{99, 100})
	<-r.done
	for k := range slots + 2 {
		fill(r.memory[k%slots*writeSize:][:writeSize], k)
	}
	if err := r.check(slots + 2); err != nil {
		t.Error(err)
	}
	r.memory[100]++
	if r.check(slots+2) == nil {
		t.Error("a wrong byte is not noticed")
	}
}

// TestRun writes a document with its plots, with short trials.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "early.md")
	args := []string{"-rounds", "1", "-time", "20ms", "-document", file}
	if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
		t.Error("no error without a document")
	}
	const page = "<!-- begin figures: make early writes them -->\n<!-- end figures -->\n"
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	defer func(all []network) { networks = all }(networks)
	networks = []network{{name: "test", file: "early-test", rate: 100e6, delay: ms, losses: []float64{0, 0.1}}}
	var log bytes.Buffer
	if err := run(t.Context(), args, io.Discard, &log); err != nil {
		t.Fatal(err, log.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Link: test", "(early-test-bytes.svg)", "| 0 % |", "| 10 % |", "BufferSizeAF"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	checkTables(t, string(text))
	svg, err := os.ReadFile(filepath.Join(filepath.Dir(file), "early-test-bytes.svg"))
	if err != nil || !regexp.MustCompile(`BufferSizeAF, K2 = 1: 10 %: [0-9.]+</desc>`).Match(svg) {
		t.Errorf("%v, %s", err, svg)
	}
}

// checkTables checks that text has whole tables of numbers.
func checkTables(t *testing.T, text string) {
	t.Helper()
	columns := 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("not a number: %s", line)
		}
		if n := strings.Count(line, "|"); !strings.HasPrefix(line, "|") {
			columns = 0
		} else if columns != 0 && n != columns {
			t.Errorf("a row with %d bars instead of %d: %s", n, columns, line)
		} else {
			columns = n
		}
	}
}

// TestFigures writes the tables and plots of given results.
func TestFigures(t *testing.T) {
	without := outcome{emss: 1400, result: result{
		elapsed: 2 * time.Second, bytes: 250_000, open: time.Second, delays: 24 * ms, delayed: 2, heldTime: 3000, waitingTime: 3000,
		most: peak{5000, 5000}, mostInSlowStart: peak{9000, 9000},
		all: []time.Duration{0, ms, 20 * ms, 30 * ms}, behind: []time.Duration{20 * ms, 30 * ms},
	}}
	with := without
	with.waitingTime, with.most.waiting, with.behind = 140, 2800, []time.Duration{ms, 2 * ms}
	n := network{name: "one", file: "f", delay: 8 * time.Millisecond}
	many := network{name: "many", file: "g", delay: 8 * time.Millisecond, connections: []int{10}}
	s := study{rounds: 1, time: time.Second, seed: 5, revision: "r"}
	s.networks = []network{n, many}
	s.points = []point{{&s.networks[0], 0.01, 1, without, with}, {&s.networks[1], 0.01, 10, without, with}}
	var text strings.Builder
	plots := s.figures(&text, time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC), "a host")
	checkTables(t, text.String())
	for _, want := range []string{
		"Measured on 2030-01-02, on a host; rddp r.",
		"| 1 % | 1.0, 1.0 | 50 %, 50 % | 3.0 (5.0) | 3.0 (5.0) | 0.1 (2.8) | 9.0, 9.0 |",
		"| 1 % | 2 (50 %), 2 (50 %) | 25.0, 20.0, 30.0 | 1.50, 1.00, 2.00 |",
		"| 1 % | 20.0 | 2.5 | 2.8 | 1.4 | 1.20 (2.0) | ", // 125 kB/s in 20 ms
		" | 0.10 (2.0) |",
		"| 10 | 1.0, 1.0 | 50 %, 50 % | 3.0 (5.0) | 3.0 (5.0) | 0.1 (2.8) | 20.0 | 2.5 | 15.4 | 1.4 |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	for file, want := range map[string]string{
		"f-bytes.svg": "BufferSizeTCP, K = 1: 1 %: 2.5\n", "f-time.svg": "with early placement: 1 %: 1 (1 to 2)", "g-bytes.svg": "BufferSizeNAF, K1 = K2 = 1: 10: 15.4\n",
	} {
		if !strings.Contains(plots[file], want) || !strings.Contains(text.String(), "("+file+")") {
			t.Errorf("%s does not have %q, or the text does not show it:\n%s", file, want, plots[file])
		}
	}
	if len(plots) != 3 {
		t.Errorf("%d plots, want 3", len(plots))
	}
}

func TestParseArgs(t *testing.T) {
	s, document, err := parseArgs([]string{"-rounds", "2", "-seed", "7", "-time", "1s", "-document", "f"}, io.Discard)
	if err != nil || s.rounds != 2 || s.seed != 7 || s.time != time.Second || document != "f" {
		t.Errorf("%+v, %q, %v", s, document, err)
	}
	for _, args := range []string{"-rounds 0", "-time 0s", "more", "-none"} {
		if _, _, err := parseArgs(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// TestDocument: docs/early.md can take the figures, and has the plots that it shows.
func TestDocument(t *testing.T) {
	const docs = "../../../docs/"
	if err := (report.Document{File: docs + "early.md", Make: "early"}).Check(); err != nil {
		t.Error(err)
	}
	plots := regexp.MustCompile(`\]\((early-.*\.svg)\)`).FindAllStringSubmatch(report.ReadText(docs+"early.md"), -1)
	if len(plots) < len(networks) {
		t.Errorf("docs/early.md has %d plots, of %d links", len(plots), len(networks))
	}
	for _, p := range plots {
		if !strings.HasPrefix(report.ReadText(docs+p[1]), "<svg ") {
			t.Errorf("docs/early.md shows %s, which is no plot", p[1])
		}
	}
}
