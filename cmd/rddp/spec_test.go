package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rddp/rddp/conformance/specpeer"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestSpecUsage(t *testing.T) {
	for _, tt := range []struct{ args, stderr string }{
		{"", "give one ADDRESS, or --listen ADDRESS"},
		{"a:1 b:2", "give one ADDRESS"},
		{"--listen a:1 b:2", `unexpected argument "b:2"`},
		{"--peer --json a:1", "--peer cannot be combined with"},
		{"a:http", "the port is a number from 0 to 65535"},
		{"--profile tcp a:1", "must be one of rfc, siw"},
		{"--timeout 0s a:1", "must be more than zero"},
		{"--wait 0s a:1", "--wait 0s: must be more than zero"},
		{"--section 9999 a:1", "no case begins with 9999"},
		{"--list a:1", "unexpected argument"},
	} {
		status, stdout, stderr := runs(t, commands(), append([]string{"spec"}, strings.Fields(tt.args)...)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("rddp spec %s: status %d, stdout %q, stderr %q", tt.args, status, stdout, stderr)
		}
	}
	// A section without cases for this part, and no peer.
	address := prototest.ClosedPort(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		status int
		args   []string
		stderr string
	}{
		{exitUsage, []string{"spec", "--section", "5044/7.1.1/request-format", address}, "no case for a peer that is the responder"},
		{exitUsage, []string{"spec", "--section", "5044/7.1.1/revision-1", "--listen", "127.0.0.1:0"}, "no case for a peer that is the initiator"},
		{exitFailure, []string{"spec", address}, "no peer: "},
		{exitFailure, []string{"spec", "--wait", "10ms", "--listen", "127.0.0.1:0"}, "no peer: no connection within 10ms"},
		{exitFailure, []string{"spec", "--listen", taken.Addr().String()}, "rddp spec: listening at " + taken.Addr().String() + ": "},
		{exitFailure, []string{"spec", "--junit", filepath.Join(t.TempDir(), "no", "folder"), address}, filepath.Join("no", "folder")},
	} {
		if status, stdout, stderr := runs(t, commands(), tt.args...); status != tt.status || stdout != "" || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("rddp %v: status %d, stdout %q, stderr %q", tt.args, status, stdout, stderr)
		}
	}
}

func TestSpecList(t *testing.T) {
	status, stdout, _ := runs(t, commands(), "spec", "--list", "--section", "5040/5.4")
	if status != 0 || strings.Count(stdout, "(peer: ") != 4 || !strings.Contains(stdout, "5040/5.4/received (peer: both)\n    A peer that gets a Terminate ends") {
		t.Errorf("rddp spec --list: status %d\n%s", status, stdout)
	}
}

// TestSpecRun tests rddp's own peer, in each part and form of output.
func TestSpecRun(t *testing.T) {
	address := specPeer(t)
	status, stdout, stderr := runs(t, commands(), "spec", "--section", "5044/4.4", "--section", "7306/6", address)
	if status != 0 || stderr != "" || !strings.Contains(stdout, "RFC 5044: MPA\n  4.4\n    pass   crc-payload\n") || !strings.HasSuffix(stdout, "11 cases: 11 pass, 0 FAIL, 0 known, 0 skip\n") {
		t.Errorf("text: status %d, stderr %q\n%s", status, stderr, stdout)
	}
	file := filepath.Join(t.TempDir(), "junit.xml")
	status, stdout, stderr = runs(t, commands(), "spec", "--section", "5044/4.4", "--json", "--junit", file, address)
	var report struct {
		Counts map[string]int
		Cases  []struct{ ID, Status string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); status != 0 || err != nil || report.Counts["pass"] != 5 || len(report.Cases) != 5 {
		t.Errorf("JSON: status %d, %v, stderr %q\n%s", status, err, stderr, stdout)
	}
	var suites struct {
		Suites []struct {
			Tests int `xml:"tests,attr"`
		} `xml:"testsuite"`
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b, &suites); err != nil || len(suites.Suites) != 1 || suites.Suites[0].Tests != 5 {
		t.Errorf("JUnit: %v\n%s", err, b)
	}
	// The failure must come before the first case.
	status, stdout, stderr = runs(t, commands(), "spec", "--section", "5044/4.4", "--junit", filepath.Join(file, "no", "folder"), address)
	if status != exitFailure || stdout != "" || stderr == "" {
		t.Errorf("a JUnit file that can't be made: status %d, want %d; stdout %q, stderr %q", status, exitFailure, stdout, stderr)
	}
}

// TestSpecListen lets rddp's own peer dial.
func TestSpecListen(t *testing.T) {
	errs := newListening()
	dialed, listened := make(chan int, 1), make(chan struct{})
	go func() {
		select {
		case line := <-errs.lines:
			status, _, _ := runs(t, commands(), "spec", "--peer", errs.address(line))
			dialed <- status
		case <-listened:
			dialed <- -1
		}
	}()
	var stdout strings.Builder
	status := run(t.Context(), strings.Fields("rddp spec --listen 127.0.0.1:0 --timeout 20s --section 5041/7.2"), &stdout, errs, commands())
	close(listened)
	if stderr := errs.String(); status != 0 || !strings.Contains(stderr, " msg=listening address=127.0.0.1:") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stdout.String(), " pass, 0 FAIL, 0 known, 0 skip\n") {
		t.Errorf("status %d, stderr %q\n%s", status, stderr, stdout.String())
	}
	if status := <-dialed; status != 0 {
		t.Errorf("the peer's status is %d", status)
	}
}

// TestSpecListenSilent: --wait also limits the wait for a peer that connects and stays silent.
func TestSpecListenSilent(t *testing.T) {
	errs := newListening()
	ended := make(chan int, 1)
	go func() {
		line := "rddp spec --listen 127.0.0.1:0 --tls-self --wait 500ms --section 5041"
		ended <- run(t.Context(), strings.Fields(line), new(strings.Builder), errs, commands())
	}()
	for range 2 { // the second line follows the pin
		select {
		case line := <-errs.lines:
			if c, err := net.Dial("tcp", errs.address(line)); err == nil { // the dial may come too late, with the same result
				defer c.Close()
			}
		case <-prototest.TimeLimit(t).Done():
			t.Fatalf("the command does not listen: %v", errs)
		}
	}
	select {
	case status := <-ended:
		if status != exitFailure || !strings.Contains(errs.String(), "no connection within 500ms") {
			t.Errorf("status %d, %v", status, errs)
		}
	case <-prototest.TimeLimit(t).Done():
		t.Error("the command waits for the handshake of a silent peer")
	}
}

// TestSpecFails: with a peer that does not speak iWARP, all cases fail, and the exit status says
// so.
func TestSpecFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	status, stdout, stderr := runs(t, commands(), "spec", "--section", "5040/5.4/one-segment", l.Addr().String())
	if status != exitFailure || !strings.Contains(stdout, "    FAIL   one-segment\n") || stderr != "rddp spec: 1 of 1 cases failed\n" {
		t.Errorf("status %d, stderr %q\n%s", status, stderr, stdout)
	}
}

// specPeer runs rddp's own peer for the duration of the test.
func specPeer(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &specpeer.Peer{}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", p.Config())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the peer ended with %v", err)
		}
	})
	return l.Addr().String()
}
