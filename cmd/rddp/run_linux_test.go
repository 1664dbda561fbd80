//go:build amd64 || arm64

package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestRunMetrics: the metrics are there while the program runs, and its status is the command's.
func TestRunMetrics(t *testing.T) {
	p := newProcess(t, "run", "--metrics", "127.0.0.1:0", "sh", "-c", "read word; exit 7")
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start(t)
	line := p.text(t, ` msg=metrics at=127\.0\.0\.1:\d+$`)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+$`).FindString(line)
	if text := scrape(t, "http://"+address+"/metrics"); !strings.Contains(text, "\n"+`rddp_run_tcp_connections_total{fate="ddp"} 0`+"\n") {
		t.Errorf("the metrics are\n%.2000s", text)
	}
	status, stdout, stderr := runs(t, commands(), "top", "--once", address)
	if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "rddp run, up ") {
		t.Errorf("rddp top: status %d, stderr %q\n%s", status, stderr, stdout)
	}
	stdin.Close()
	if err := p.end(t); err == nil || err.Error() != "exit status 7" {
		t.Errorf("the command ends with %v", err)
	}
}
