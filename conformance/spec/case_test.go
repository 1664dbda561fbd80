package spec

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Cases have unique IDs and a requirement, and are in order.
func TestCases(t *testing.T) {
	id := regexp.MustCompile(`^(5040|5041|5044|6581|7306)/[1-9][0-9.]*/[a-z0-9-]+$`)
	requirement := regexp.MustCompile(`^(MPA|DDP|RDMAP|RDMAPX)-(5040|5041|5044|6581|7306)-[0-9.]+-[0-9]+$`)
	cases := Cases()
	if len(cases) != 213 {
		t.Errorf("%d cases, want 213", len(cases))
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.ID] || !id.MatchString(c.ID) {
			t.Errorf("%q is no ID, or not the only one of that name", c.ID)
		}
		seen[c.ID] = true
		if !strings.HasSuffix(c.Requirement, ".") || len(c.IDs) == 0 || c.Part == 0 || c.Part&^both != 0 {
			t.Errorf("%s: requirement %q, ids %v, part %d", c.ID, c.Requirement, c.IDs, c.Part)
		}
		for _, r := range c.IDs {
			if !requirement.MatchString(r) {
				t.Errorf("%s: %q is no requirement's ID", c.ID, r)
			}
		}
	}
	if !slices.IsSortedFunc(cases, func(a, b Case) int {
		if a.RFC() != b.RFC() {
			return rank(a.RFC()) - rank(b.RFC())
		}
		return compareSections(a.Section(), b.Section())
	}) {
		t.Error("the cases are not in the order of RFCs and sections")
	}
}

func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		sections []string
		part     Part
		want     int
	}{
		{nil, 0, 213},
		{nil, Responder, 186},
		{nil, Initiator, 171},
		{[]string{"5044/7.1.1/revision-1"}, 0, 1},
		{[]string{"5044/7.1.1/revision-"}, 0, 0}, // not a whole word
		{[]string{"5044/7.1.1/revision-1", "5044/7.1.1/revision-1", "5044/7.1.1/revision-0"}, 0, 2},
		{[]string{"5044/7.1"}, 0, len(responderStartup()) + len(initiatorStartup()) + 4},
		{[]string{"5044/7.1/"}, Initiator, len(initiatorStartup()) + 2},
		{[]string{"504"}, 0, 0},
		{[]string{"7306"}, 0, len(atomics()) + len(immediate())},
	} {
		if got := Select(tt.part, tt.sections); len(got) != tt.want {
			t.Errorf("Select(%v, %v) gives %d cases, want %d", tt.part, tt.sections, len(got), tt.want)
		}
	}
}

// A profile names existing cases, in a part that they have, and gives a reason for each.
func TestProfiles(t *testing.T) {
	for name, p := range Profiles() {
		sentences := make(map[string]string)
		for id, d := range p.Deviations {
			sentences[id] = d.Sentence
		}
		for i, d := range p.Races {
			if d.Got == "" || d.Expected == "" || !strings.HasSuffix(d.Sentence, ".") {
				t.Errorf("profile %s: number %d of Races says too little: %+v", name, i, d)
			}
		}
		for id, sentence := range p.Harmful {
			if _, both := sentences[id]; both {
				t.Errorf("profile %s: %s can't deviate, as it is not asked", name, id)
			}
			sentences[id] = sentence
		}
		for id, sentence := range sentences {
			base, part, _ := strings.Cut(id, "@")
			list := Select(0, []string{base})
			if len(list) != 1 || list[0].ID != base || part != "" && part != "responder" && part != "initiator" || part == list[0].Part.String() {
				t.Errorf("profile %s: no case %q", name, id)
			}
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("profile %s, %s: %q is no sentence", name, id, sentence)
			}
		}
	}
}

func TestKnown(t *testing.T) {
	p := &Profile{
		Deviations: map[string]Deviation{
			"e": {Sentence: "either.", Got: "00", Or: "11"}, "a": {Sentence: "both."}, "b@initiator": {Sentence: "one."}, "a@responder": {Sentence: "other."}, "c": {Sentence: "so.", Got: "00"},
		},
		Races: []Deviation{{Sentence: "now and then.", Got: "silence", Expected: "a word"}},
	}
	for _, tt := range []struct {
		id   string
		part Part
		got  string
		want string
	}{
		{"a", Initiator, "", "both."}, {"a", Responder, "", "other."}, {"b", Initiator, "", "one."}, {"b", Responder, "", ""},
		{"c", Initiator, "1001", "so."}, {"c", Initiator, "1011", ""}, {"d", Initiator, "", ""},
		{"e", Responder, "0011", "either."}, {"e", Responder, "00", "either."}, {"e", Responder, "11", "either."}, {"e", Responder, "10", ""},
		{"c", Responder, "silence", ""}, {"d", Responder, "silence", ""}, {"c", Responder, "silence 00", "so."},
	} {
		if got, ok := p.known(tt.id, tt.part, "a word", tt.got); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("known(%s, %v, %s) = %q, %v, want %q", tt.id, tt.part, tt.got, got, ok, tt.want)
		}
	}
	for _, tt := range []struct {
		expected, got string
		want          bool
	}{
		{"a word", "silence", true}, {"this, or a word", "silence", true},
		{"two bytes", "silence", false}, {"a word", "1 message; silence", false}, {"a word", "", false},
	} {
		if _, ok := p.race(tt.expected, tt.got); ok != tt.want {
			t.Errorf("race(%s, %s) is %v, want %v", tt.expected, tt.got, ok, tt.want)
		}
	}
}

// Known failures do not make a report fail, others do, and harmful cases are not asked.
func TestProfileOfRun(t *testing.T) {
	id := "5044/7.1.1/revision-1"
	for _, tt := range []struct {
		profile *Profile
		want    Status
	}{
		{nil, StatusFail},
		{&Profile{Deviations: map[string]Deviation{id: {Sentence: "It does not speak.", Got: "the connection stays open"}}}, StatusKnown},
		{&Profile{Deviations: map[string]Deviation{id: {Sentence: "It speaks.", Got: "some bytes"}}}, StatusFail},
		{&Profile{Harmful: map[string]string{id: "It burns."}}, StatusSkip},
	} {
		r := profiled(t, Responder, silent, tt.profile, id)[id]
		if r.Status != tt.want || (&Report{Results: []Result{r}}).Failed() != (tt.want == StatusFail) {
			t.Errorf("%s %s, want %s", r.Status, r.Reason, tt.want)
		}
	}
}

func TestRecord(t *testing.T) {
	full := Record{
		Flags: FlagMemory | FlagReadOnly | FlagWriteOnly | FlagStartup, Region: Region{1, 2, 4096}, ReceiveSize: 5000,
		ReadOnly: Region{3, 4, 4097}, WriteOnly: Region{5, 6, 4098}, Startup: 1234 * time.Millisecond,
	}
	b := full.AppendTo(nil)
	if len(b) != 28+32+4 {
		t.Errorf("%d bytes, want 64", len(b))
	}
	got, rest, err := ParseRecord(append(b, "rest"...))
	if err != nil || string(rest) != "rest" || !reflect.DeepEqual(got, full) {
		t.Errorf("ParseRecord: %+v, %q, %v", got, rest, err)
	}
	for n := range b {
		if _, _, err := ParseRecord(b[:n]); !errors.Is(err, ErrNoRecord) && !errors.Is(err, ErrBadRecord) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	for _, change := range []func(*Record){
		func(r *Record) { r.Region.Len = 4095 }, func(r *Record) { r.ReadOnly.Len = 0 },
		func(r *Record) { r.WriteOnly.TO = 1<<64 - 1 }, func(r *Record) { r.ReceiveSize = 4095 },
		func(r *Record) { r.Startup = 0 },
	} {
		bad := full
		change(&bad)
		if _, _, err := ParseRecord(bad.AppendTo(nil)); !errors.Is(err, ErrBadRecord) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	small := Record{ReceiveSize: 4096} // lends nothing
	if _, _, err := ParseRecord(small.AppendTo(nil)); err != nil {
		t.Errorf("a record without memory: %v", err)
	}
}

// The example in SPEC.md is a valid record.
func TestRecordOfDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "conformance", "SPEC.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ {4}72645350 .*$`).FindString(string(text))
	b, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := Record{Flags: FlagMemory | FlagReadOnly, Region: Region{0x11, 0x1000, 4096}, ReceiveSize: 4096, ReadOnly: Region{0x22, 0x2000, 4096}}
	if r, rest, err := ParseRecord(b); err != nil || len(rest) != 0 || r != want {
		t.Errorf("%s is %+v, %x, %v; want %+v", line, r, rest, err, want)
	}
}

func TestNoPeer(t *testing.T) {
	calls := 0
	refuse := func(context.Context) (net.Conn, error) { calls++; return nil, syscall.ECONNREFUSED }
	var none *NoPeerError
	if r, err := Run(t.Context(), Config{Part: Responder, Open: refuse}); !errors.As(err, &none) || !errors.Is(err, syscall.ECONNREFUSED) || len(r.Results) != 0 || calls != 1 {
		t.Errorf("no peer at all: %v after %d calls", err, calls)
	}
	// A peer that goes away is given up after three cases.
	calls = 0
	once := func(context.Context) (net.Conn, error) {
		if calls++; calls > 1 {
			return nil, syscall.ECONNREFUSED
		}
		ours, theirs := net.Pipe()
		theirs.Close()
		return ours, nil
	}
	if r, err := Run(t.Context(), Config{Part: Responder, Open: once}); !errors.As(err, &none) || len(r.Results) != 2 || !r.Failed() || !strings.HasPrefix(r.Summary(), "2 of 186 cases: ") {
		t.Errorf("a peer that went away: %v, %d results", err, len(r.Results))
	}
	calls = 0
	unfit := func(ctx context.Context) (net.Conn, error) {
		conn, err := once(ctx)
		if err != nil {
			err = &NoPeerError{err}
		}
		return conn, err
	}
	if r, err := Run(t.Context(), Config{Part: Responder, Open: unfit}); !errors.As(err, &none) || none.Err != error(syscall.ECONNREFUSED) || len(r.Results) != 0 {
		t.Errorf("a peer of which Open says that it is none: %v, %d results", err, len(r.Results))
	}
	if _, err := Run(t.Context(), Config{Part: Responder, Sections: []string{"none"}}); !errors.Is(err, ErrNoCase) {
		t.Errorf("no case: %v", err)
	}
}

// An interrupt ends a case that waits for a silent peer.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	open := func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { theirs.Close() })
		go func() {
			_, _ = theirs.Read(make([]byte, 1))
			cancel()
		}()
		return ours, nil
	}
	if _, err := Run(ctx, Config{Part: Responder, Open: open}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}
