package spec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/pcapng"
)

// A Report contains the peer's answers.
type Report struct {
	Part    Part   // the peer's role
	Address string // Config.Address
	Profile string
	Results []Result
	// Selected is the number of selected cases. There are fewer Results if the run was interrupted
	// or lost its peer.
	Selected int
}

// Count returns the number of results with this status.
func (r *Report) Count(status Status) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Status == status {
			n++
		}
	}
	return n
}

// Failed reports whether a case has failed other than in a known deviation of the profile.
func (r *Report) Failed() bool { return r.Count(StatusFail) > 0 }

// rfcs are the titles of the RFCs in the text.
var rfcs = map[string]string{
	"5040": "RDMAP", "5041": "DDP", "5044": "MPA", "6581": "MPA, enhanced connection setup", "7306": "RDMA extensions",
}

// Summary returns one line with the counts.
func (r *Report) Summary() string {
	cases := fmt.Sprint(len(r.Results))
	if r.Selected > len(r.Results) {
		cases += fmt.Sprintf(" of %d", r.Selected)
	}
	return fmt.Sprintf("%s cases: %d pass, %d FAIL, %d known, %d skip", cases,
		r.Count(StatusPass), r.Count(StatusFail), r.Count(StatusKnown), r.Count(StatusSkip))
}

// A Printer writes results as text, grouped by RFC and section, as they come. Close returns its
// first error.
type Printer struct {
	w            io.Writer
	rfc, section string
	err          error
}

// NewPrinter returns a Printer that writes to w.
func NewPrinter(w io.Writer) *Printer { return &Printer{w: w} }

func (p *Printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// Print writes one result.
func (p *Printer) Print(r Result) {
	if rfc := r.RFC(); rfc != p.rfc {
		p.printf("RFC %s: %s\n", rfc, rfcs[rfc])
		p.rfc, p.section = rfc, ""
	}
	if section := r.Section(); section != p.section {
		p.printf("  %s\n", section)
		p.section = section
	}
	switch r.Status {
	case StatusPass:
		p.printf("    pass   %s%s\n", r.Name(), r.tries())
	case StatusSkip:
		p.printf("    skip   %s: %s\n", r.Name(), r.Reason)
	case StatusKnown:
		p.printf("    known  %s%s: %s\n", r.Name(), r.tries(), r.Reason)
	default:
		p.printf("    FAIL   %s%s\n", r.Name(), r.tries())
		p.failure(r)
	}
}

// tries returns a note if the case was asked more than once.
func (r Result) tries() string {
	if r.Tries == 0 {
		return ""
	}
	return fmt.Sprintf(" (asked %d times)", r.Tries)
}

func (p *Printer) failure(r Result) {
	for _, l := range []struct{ name, text string }{
		{"requirement", r.Requirement}, {"ids", strings.Join(r.IDs, ", ")}, {"expected", r.Expected}, {"came", r.Got},
	} {
		p.printf("           %-12s %s\n", l.name+":", l.text)
	}
	for _, l := range r.Decoded() {
		p.printf("           %s\n", l)
	}
	sent, received := r.Octets()
	for _, d := range []struct {
		title  string
		octets []byte
	}{{"sent", sent}, {"received", received}} {
		p.printf("           %s, %d bytes\n", d.title, len(d.octets))
		for l := range strings.Lines(hex.Dump(d.octets)) {
			p.printf("             %s", l)
		}
	}
}

// Close writes the summary and returns the first error of the writer.
func (p *Printer) Close(r *Report) error {
	p.printf("%s\n", r.Summary())
	return p.err
}

// Octets returns the bytes sent and received on the case's last connection, at most 64 KiB of each.
func (r Result) Octets() (sent, received []byte) {
	for _, e := range r.Log {
		if e.sent {
			sent = append(sent, e.octets...)
		} else {
			received = append(received, e.octets...)
		}
	}
	return sent, received
}

// Decoded returns, in words, what was sent ("> ") and received ("< ") on the case's last
// connection, as far as package dissect can decode it. A direction that does not begin with an MPA
// frame cannot be decoded.
func (r Result) Decoded() []string {
	var file bytes.Buffer
	w, err := pcapng.NewWriter(&file)
	if err != nil {
		return nil
	}
	ours := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	flow := w.Flow(ours, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2}, true)
	for _, e := range r.Log {
		if e.sent {
			flow.Sent(e.octets)
		} else {
			flow.Received(e.octets)
		}
	}
	flow.Stop()
	if w.Close() != nil {
		return nil
	}
	var lines []string
	_ = dissect.Read(&file, func(rec dissect.Record) error { // it was made here, so the file is valid
		if rec.Kind == dissect.KindSummary { // a case may send no iWARP at all
			return nil
		}
		direction := "< "
		if rec.Src.Port() == uint16(ours.Port) {
			direction = "> "
		}
		// Remove the time and the addresses, which are made up.
		if f := strings.SplitN(rec.String(), " ", 5); len(f) == 5 {
			// Missing bytes do not mean that the connection has ended: the case may have read
			// enough.
			lines = append(lines, direction+strings.Replace(f[4], "error: the capture ends", "error: the bytes end", 1))
		}
		return nil
	})
	return lines
}

// A jsonResult is the JSON form of a result.
type jsonResult struct {
	ID          string   `json:"id"`
	RFC         string   `json:"rfc"`
	Section     string   `json:"section"`
	Name        string   `json:"name"`
	Status      Status   `json:"status"`
	Requirement string   `json:"requirement"`
	IDs         []string `json:"ids"`
	Reason      string   `json:"reason,omitempty"`
	Expected    string   `json:"expected,omitempty"`
	Got         string   `json:"got,omitempty"`
	Decoded     []string `json:"decoded,omitempty"`
	Sent        string   `json:"sent,omitempty"`     // hexadecimal
	Received    string   `json:"received,omitempty"` // hexadecimal
	Seconds     float64  `json:"seconds"`
	Tries       int      `json:"tries,omitempty"`
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	out := struct {
		Peer     string         `json:"peer"`
		Address  string         `json:"address"`
		Profile  string         `json:"profile"`
		Selected int            `json:"selected"`
		Counts   map[Status]int `json:"counts"`
		Cases    []jsonResult   `json:"cases"`
	}{r.Part.String(), r.Address, r.Profile, r.Selected, map[Status]int{}, []jsonResult{}}
	for _, s := range []Status{StatusPass, StatusFail, StatusKnown, StatusSkip} {
		out.Counts[s] = r.Count(s)
	}
	for _, c := range r.Results {
		j := jsonResult{
			ID: c.ID, RFC: c.RFC(), Section: c.Section(), Name: c.Name(), Status: c.Status, Requirement: c.Requirement, IDs: c.IDs,
			Reason: c.Reason, Expected: c.Expected, Got: c.Got, Seconds: c.Elapsed.Seconds(), Tries: c.Tries,
		}
		if c.Status == StatusFail || c.Status == StatusKnown {
			sent, received := c.Octets()
			j.Decoded, j.Sent, j.Received = c.Decoded(), hex.EncodeToString(sent), hex.EncodeToString(received)
		}
		out.Cases = append(out.Cases, j)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Skipped *junitSkipped `xml:"skipped"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// WriteJUnit writes the report as JUnit's XML, with one suite for each RFC. A known deviation is a
// skipped test.
func (r *Report) WriteJUnit(w io.Writer) error {
	var suites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	for _, c := range r.Results {
		name := "RFC " + c.RFC()
		i := slices.IndexFunc(suites.Suites, func(s junitSuite) bool { return s.Name == name })
		if i < 0 {
			i = len(suites.Suites)
			suites.Suites = append(suites.Suites, junitSuite{Name: name})
		}
		s := &suites.Suites[i]
		j := junitCase{
			Class: fmt.Sprintf("rddp.spec.%s.%s.%s", r.Part, c.RFC(), strings.ReplaceAll(c.Section(), ".", "_")),
			Name:  c.Name(), Time: fmt.Sprintf("%.3f", c.Elapsed.Seconds()),
		}
		s.Tests++
		switch c.Status {
		case StatusPass:
		case StatusFail:
			s.Failures++
			var text bytes.Buffer
			(&Printer{w: &text}).failure(c)
			j.Failure = &junitFailure{fmt.Sprintf("expected %s; came: %s", c.Expected, c.Got), "\n" + text.String()}
		case StatusKnown:
			s.Skipped++
			j.Skipped = &junitSkipped{"known: " + c.Reason}
		case StatusSkip:
			s.Skipped++
			j.Skipped = &junitSkipped{c.Reason}
		}
		s.Cases = append(s.Cases, j)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
