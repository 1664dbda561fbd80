//go:build amd64 || arm64

package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDemo: the demo shows a device, reads the memory of a program that is stopped, and moves a
// file.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	p := newProcess(t, "demo", "--size", "1m", "--rounds", "1", "--capture", filepath.Join(dir, "c.pcapng"))
	var out, stderr bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &out, &stderr
	if err := p.cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, &stderr, &out)
	}
	want := regexp.MustCompile(`^device     RDMA devices of this host: .*; under rddp run: rxe_rddp0.*
stopped    1000 RDMA Reads of a program's memory while it is stopped \(SIGSTOP\), \d+ µs each \(running: \d+\);
           over TCP it answers nothing for 500ms, until it goes on
file       .*
server     process .*
RDMA Write .*
RDMA Read  .*
messages   .*
capture    .*
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("the demo prints\n%s", &out)
	}
}
