package check

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestReport: each finding is logged once, and notes and suppressed findings are counted apart.
func TestReport(t *testing.T) {
	suppress, err := ParseSuppressions([]byte("# left on purpose\n\nleak PD *: *\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := NewReporter(slog.New(slog.NewTextHandler(&out, nil)), suppress)
	r.Add(Finding{Leak, "QP 1", "is left"}, Finding{Leak, "QP 1", "is left again"}, Finding{Leak, "PD 2", "is left"})
	if got, want := r.Summarize(), (Counts{Findings: 1, Suppressed: 1, Repeated: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	for text, want := range map[string]int{`msg="QP 1: is left" check=leak rule=`: 1, "again": 0, "PD 2": 0, "findings=1": 1} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q is %d times in the log, want %d:\n%s", text, got, want, &out)
		}
	}
}

// TestRefusals: what is refused for another reason is another mistake, up to a number of them.
func TestRefusals(t *testing.T) {
	var r Report
	for _, tt := range []struct {
		f    Finding
		news bool
	}{
		{Finding{Refused, "QP 1", "port_num 2"}, true},
		{Finding{Refused, "QP 1", "port_num 2"}, false},
		{Finding{Refused, "QP 1", "RESET to RTS"}, true},
		{Finding{Refused, "QP 1", "port_num 2"}, false},
		{Finding{Refused, "QP 2", "port_num 2"}, true},
		{Finding{State, "QP 1", "a"}, true},
		{Finding{State, "QP 1", "b"}, false},
	} {
		if news := r.Add(tt.f); news != tt.news {
			t.Errorf("%v: news %t, want %t", tt.f, news, tt.news)
		}
	}
	n := 0
	for i := range 2 * maxRefused {
		if r.Add(Finding{Refused, "QP 3", strings.Repeat("x", i)}) {
			n++
		}
	}
	if n != maxRefused {
		t.Errorf("%d refusals of one object, want %d", n, maxRefused)
	}
}

// TestReportIsBounded: a program that makes the same mistake with ever new objects uses no memory
// without bound.
func TestReportIsBounded(t *testing.T) {
	var r Report
	for i := range 2 * maxFindings {
		r.Add(Finding{Leak, strings.Repeat("x", i%7) + string(rune(i)), ""})
	}
	if n := len(r.mistakes) + len(r.others); n > maxFindings {
		t.Errorf("%d findings are remembered, want at most %d", n, maxFindings)
	}
}

// TestNotesHideNoMistake: however many notes and suppressed findings there are, a mistake is found.
func TestNotesHideNoMistake(t *testing.T) {
	r := Report{Suppress: []Suppression{{kind: Leak, pattern: "PD *"}}}
	for i := range 2 * maxFindings {
		r.Add(Unmaps(strings.Repeat("x", i%7)+string(rune(i)), 0, 1))
		r.Add(Leaves("PD "+string(rune(i)), ""))
	}
	if len(r.others) > maxFindings {
		t.Errorf("%d notes are remembered, want at most %d", len(r.others), maxFindings)
	}
	if !r.Add(Leaves("QP 1", "ibv_destroy_qp")) || r.Counts().Findings != 1 {
		t.Errorf("the mistake is not found: %+v", r.Counts())
	}
}

// TestForgottenObject: a mistake with an object that has the name of one that is gone is another
// one.
func TestForgottenObject(t *testing.T) {
	var r Report
	for n := range 2 * maxFindings {
		if fresh := r.Add(Finding{State, "QP 1", ""}); fresh != (n < maxFindings) {
			t.Fatalf("mistake %d: fresh %t", n, fresh)
		}
		if r.Add(Finding{State, "QP 1", "again"}) {
			t.Fatalf("mistake %d is found twice", n)
		}
		r.Forgets("QP 1")
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a", "ba", false}, {"", "", true}, {"*", "", true}, {"*", "abc", true},
		{"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abc", true}, {"a*b", "abc", false}, {"a*b*c", "aXbYc", true},
		{"*b*", "abc", true}, {"*d*", "abc", false}, {"ab*bc", "abc", false},
	} {
		if got := matches(tt.pattern, tt.text); got != tt.want {
			t.Errorf("matches(%q, %q) = %t, want %t", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// TestKinds: each kind has a name of its own and a rule.
func TestKinds(t *testing.T) {
	for k := range kinds {
		if back, ok := parseKind(k.String()); !ok || back != k || k.Rule() == "" {
			t.Errorf("kind %d: name %q, rule %q", k, k, k.Rule())
		}
	}
}

func TestParseSuppressionsRefuses(t *testing.T) {
	if _, err := ParseSuppressions([]byte("leak\nlaek QP *\n")); err == nil || !strings.Contains(err.Error(), `line 2: there is no kind of finding "laek"`) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzParseSuppressions(f *testing.F) {
	f.Add([]byte("leak PD *\n* QP*\n#\n"), "QP 1")
	f.Fuzz(func(t *testing.T, file []byte, object string) {
		all, err := ParseSuppressions(file)
		if err != nil {
			return
		}
		(&Report{Suppress: all}).Add(Finding{Leak, object, ""})
	})
}
