package spec

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files of reports anew")

// golden is a report with a result of each status.
func golden() *Report {
	find := func(id string, s Status) Result {
		return Result{Case: Select(0, []string{id})[0], Status: s, Elapsed: 1500 * time.Microsecond}
	}
	skipped := find("5044/7.1.1/crc-off", StatusSkip)
	skipped.Reason = "the peer wants CRCs"
	request := frame{key: keyRequest, flags: flagC, revision: 1}
	reply := frame{key: keyReply, flags: flagC, revision: 1, private: []byte("<private>")}
	octets := func(g segment) []byte { return fpdu{ulpdu: g.octets()}.appendTo(nil, 0, true, false) }
	log := []exchange{
		{true, request.octets()},
		{false, reply.octets()},
		{true, octets(tagged(opWrite, 0x1234, 0x10, []byte("no place")))},
		{false, octets(untagged(opTerminate, qnTerminate, 1, []byte{0x11, 1, 0, 0}))},
	}
	known := find("5041/7.2/beyond-end", StatusKnown)
	known.Reason, known.Expected, known.Got, known.Log = "it cannot count", "this & that", "that <again>", log
	failed := find("5041/7.2/invalid-stag", StatusFail)
	failed.Expected, failed.Got, failed.Log = ddpInvalidSTag.String(), ddpBounds.String(), log
	lost := find("7306/6.2/immediate", StatusFail)
	lost.Expected, lost.Got = "a connection", "no connection: refused"
	return &Report{Part: Responder, Address: "192.0.2.1:7174", Profile: "siw", Selected: 7, Results: []Result{
		find("5044/7.1.1/revision-1", StatusPass), skipped, find("5044/7.1.2/cut-request", StatusPass), known, failed, lost,
	}}
}

func TestReports(t *testing.T) {
	text := func(w io.Writer, r *Report) error {
		p := NewPrinter(w)
		for _, c := range r.Results {
			p.Print(c)
		}
		return p.Close(r)
	}
	for _, tt := range []struct {
		file  string
		write func(io.Writer, *Report) error
	}{
		{"report.txt", text},
		{"report.json", func(w io.Writer, r *Report) error { return r.WriteJSON(w) }},
		{"report.xml", func(w io.Writer, r *Report) error { return r.WriteJUnit(w) }},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := tt.write(&got, golden()); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join("testdata", tt.file)
			if *update {
				if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s:\n%s\nwant:\n%s", tt.file, got.Bytes(), want)
			}
			if err := tt.write(full{}, golden()); !errors.Is(err, errFull) {
				t.Errorf("writing to a full disk: %v", err)
			}
		})
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// The text of a case that has read enough does not say that the connection has ended.
func TestDecodedCut(t *testing.T) {
	request := frame{key: keyRequest, flags: flagC, revision: 1}
	reply := frame{key: keyReply, flags: flagC, revision: 1, private: []byte("<private>")}
	for _, tt := range []struct {
		desc string
		log  []exchange
		want string
	}{
		{"no Reply", []exchange{{true, request.octets()}}, "> error: the bytes end without an MPA Reply"},
		{"half a Reply", []exchange{{true, request.octets()}, {false, reply.octets()[:20]}}, "< error: the bytes end inside an MPA frame"},
		{"half an FPDU", []exchange{{true, request.octets()}, {false, reply.octets()}, {true, []byte{0, 20, 1}}}, "> error: the bytes end inside an FPDU, 3 bytes after it began"},
		{"DDP version 0", []exchange{{true, request.octets()}, {false, reply.octets()}, {
			true, fpdu{ulpdu: make([]byte, 18)}.appendTo(nil, 0, true, false),
		}}, "> fpdu, 0 bytes [ulpdu 18 crc good] (error: DDP version 0, want 1)"},
	} {
		lines := Result{Log: tt.log}.Decoded()
		if !slices.Contains(lines, tt.want) || strings.Contains(strings.Join(lines, "\n"), "connection ends") {
			t.Errorf("%s:\n%s\nwant %s", tt.desc, strings.Join(lines, "\n"), tt.want)
		}
	}
}

func TestOctetsOf(t *testing.T) {
	for _, tt := range []struct{ octets, want string }{
		{"", "no bytes"}, {"a", "the 1 bytes 61"}, {strings.Repeat("a", 25), "the 25 bytes " + strings.Repeat("61", 24) + "…"},
	} {
		if got := octetsOf([]byte(tt.octets)); got != tt.want {
			t.Errorf("octetsOf(%q) = %q, want %q", tt.octets, got, tt.want)
		}
	}
}
