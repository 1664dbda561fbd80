package main

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"
)

func TestPingUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "either -s (server) or -c (client)"},
		{"-s -c -a 127.0.0.1", "either -s (server) or -c (client)"},
		{"-c", "-c needs -a ADDRESS"},
		{"-c -a 127.0.0.1 7174", `unexpected argument "7174"`},
		{"-c -a 127.0.0.1 -S 0", "-S 0: the size is 1 to"},
		{"-c -a 127.0.0.1 -S 1073741825", "-S 1073741825: the size is 1 to"},
		{"-c -a 127.0.0.1 -S many", `"many"`},
		{"-c -a 127.0.0.1 -C -1", "the count is negative"},
		{"-c -a 127.0.0.1 -p 65536", `"65536"`},
		{"-c -a 127.0.0.1 --revision 3", "revisions 1 and 2"},
		{"-c -a 127.0.0.1 --p2p --rtr swap", `--rtr: "swap"`},
		{"-c -a 127.0.0.1 --timeout 0s", "--timeout 0s"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, append([]string{"ping"}, strings.Fields(tt.args)...)...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "rddp ping: ") || !strings.Contains(stderr, tt.want) {
				t.Errorf("rddp ping %s: status %d, stdout %q, stderr %q, want status %d and %q", tt.args, status, stdout, stderr, exitUsage, tt.want)
			}
		})
	}
}

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func TestPingBothRoles(t *testing.T) {
	port := freePort(t)
	type result struct {
		status         int
		stdout, stderr string
	}
	served := make(chan result, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		var out, errs strings.Builder
		status := run(ctx, strings.Fields("rddp ping -sv -a 127.0.0.1 -p "+port), &out, &errs, []*cli.Command{pingCommand()})
		served <- result{status, out.String(), errs.String()}
	}()
	awaitListener(t, port, served)
	status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, strings.Fields("ping -cvV -a 127.0.0.1 -p "+port+" -C 2 -S 20")...)
	want := regexp.MustCompile(`^ping data: rdma-ping-0: ABCDEF\nping data: rdma-ping-1: BCDEFG\n2 pings of 20 octets, RTT min/avg/max [0-9.]+/[0-9.]+/[0-9.]+ µs\n$`)
	if status != exitOK || !want.MatchString(stdout) || stderr != "" {
		t.Errorf("client: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	r := <-served
	if want := "server ping data: rdma-ping-0: ABCDEF\nserver ping data: rdma-ping-1: BCDEFG\n"; r.status != exitOK || r.stdout != want || !isProbe(r.stderr, port, true) {
		t.Errorf("server: status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}

// awaitListener connects to the server until it listens. Each time the server tells of a connection that
// ended without a Request, and goes on.
func awaitListener[R any](t *testing.T, port string, served <-chan R) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return
		}
		select {
		case r := <-served:
			t.Fatalf("the server has ended: %+v", r)
		case <-deadline:
			t.Fatal("the server does not listen")
		case <-tick.C:
		}
	}
}

// isProbe reports whether a server's stderr tells where it listens, of awaitListener's connection if it had time to, and
// nothing else.
func isProbe(stderr, port string, inTime bool) bool {
	rest, ok := strings.CutPrefix(stderr, "rddp ping: listening at 127.0.0.1:"+port+"\n")
	if rest == "" && !inTime {
		return ok
	}
	return ok && strings.Count(rest, "\n") == 1 && strings.HasPrefix(rest, "rddp ping: connection from 127.0.0.1:") &&
		strings.Contains(rest, "without an MPA Request")
}

func TestPingRefused(t *testing.T) {
	port := freePort(t)
	status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, "ping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "1")
	if status != exitFailure || stdout != "" || !strings.HasPrefix(stderr, "rddp ping: connecting to 127.0.0.1:"+port+": ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

// An interrupt ends a waiting server in an orderly way.
func TestPingInterrupted(t *testing.T) {
	port := freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs strings.Builder
	served := make(chan int, 1)
	go func() {
		served <- run(ctx, strings.Fields("rddp ping -sP -a 127.0.0.1 -p "+port), &out, &errs, []*cli.Command{pingCommand()})
	}()
	awaitListener(t, port, served)
	cancel()
	if status := <-served; status != exitOK || out.Len() > 0 || !isProbe(errs.String(), port, false) {
		t.Errorf("status %d, stdout %q, stderr %q", status, out.String(), errs.String())
	}
}
