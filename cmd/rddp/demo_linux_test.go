//go:build amd64 || arm64

package main

import (
	"bytes"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDemo: the demo shows a device, reads the memory of a program that is stopped, and moves a
// file. Its recording in docs shows the same.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	p := newProcess(t, "demo", "--size", "1m", "--rounds", "1", "--capture", filepath.Join(dir, "c.pcapng"))
	var out, stderr bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &out, &stderr
	if err := p.cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, &stderr, &out)
	}
	want := regexp.MustCompile(`^device     RDMA devices of this host: .*;
           under rddp run: rxe_rddp0.*
stopped    1000 RDMA Reads of a program's memory while it is stopped \(SIGSTOP\),
           \d+ µs each \(running: \d+\); over TCP it answers nothing for 500ms
file       .* MiB, .*
server     process .*
RDMA Write .*; SHA-256 equal there
RDMA Read  .*; SHA-256 equal here
messages   .*
capture    .*
           rddp dump .*
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("the demo prints\n%s", &out)
	}
	text, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	var recorded strings.Builder
	for _, line := range regexp.MustCompile(`<text[^>]*>(.*)</text>`).FindAllSubmatch(text, -1) {
		recorded.WriteString(html.UnescapeString(string(line[1])) + "\n")
	}
	if lines, ok := strings.CutPrefix(recorded.String(), "$ rddp demo\n"); !ok || !want.MatchString(lines) {
		t.Errorf("make recording would change docs/demo.svg, which says\n%s", &recorded)
	}
}
