package main

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/tcptest"
	"github.com/rddp/rddp/internal/prototest"
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

func TestPingBothRoles(t *testing.T) {
	type result struct {
		status         int
		stdout, stderr string
	}
	served := make(chan result, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := newListening()
	go func() {
		var out strings.Builder
		status := run(ctx, strings.Fields("rddp ping -sv -a 127.0.0.1 -p 0"), &out, errs, []*cli.Command{pingCommand()})
		served <- result{status, out.String(), errs.String()}
	}()
	port := awaitListener(t, errs, served)
	status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, strings.Fields("ping -cvV -a 127.0.0.1 -p "+port+" -C 2 -S 20")...)
	want := regexp.MustCompile(`^ping data: rdma-ping-0: ABCDEF\nping data: rdma-ping-1: BCDEFG\n2 pings of 20 bytes, RTT min/avg/max [0-9.]+/[0-9.]+/[0-9.]+ µs\n$`)
	if status != exitOK || !want.MatchString(stdout) || stderr != "" {
		t.Errorf("client: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	r := <-served
	if want := "server ping data: rdma-ping-0: ABCDEF\nserver ping data: rdma-ping-1: BCDEFG\n"; r.status != exitOK || r.stdout != want || !isProbe(r.stderr, port) {
		t.Errorf("server: status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}

// awaitListener waits until the server listens, and returns its port. It connects, too, and waits
// until the server has told of a connection that ended without a Request: a client that is quicker
// would end the server.
func awaitListener[R any](t *testing.T, errs *listening, served <-chan R) (port string) {
	t.Helper()
	line := func() string {
		select {
		case line := <-errs.lines:
			return line
		case r := <-served:
			t.Fatalf("the server has ended: %+v, %s", r, errs)
		case <-time.After(prototest.Patience(t)):
			t.Fatalf("the server says no more than %s", errs)
		}
		return ""
	}
	address := errs.address(line())
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	tcptest.Dial(t, address).Close()
	line()
	return port
}

// isProbe reports whether a server's stderr tells where it listens, of awaitListener's connection,
// and nothing else.
func isProbe(stderr, port string) bool {
	rest, ok := strings.CutPrefix(stderr, "rddp ping: listening at 127.0.0.1:"+port+"\n")
	return ok && strings.Count(rest, "\n") == 1 && strings.HasPrefix(rest, "rddp ping: connection from 127.0.0.1:") &&
		strings.Contains(rest, "without an MPA Request")
}

func TestPingRefused(t *testing.T) {
	_, port, err := net.SplitHostPort(tcptest.ClosedPort(t))
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, "ping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "1")
	if status != exitFailure || stdout != "" || !strings.HasPrefix(stderr, "rddp ping: connecting to 127.0.0.1:"+port+": ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

// An interrupt ends a waiting server in an orderly way.
func TestPingInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	errs := newListening()
	served := make(chan int, 1)
	go func() {
		served <- run(ctx, strings.Fields("rddp ping -sP -a 127.0.0.1 -p 0"), &out, errs, []*cli.Command{pingCommand()})
	}()
	port := awaitListener(t, errs, served)
	cancel()
	if status := <-served; status != exitOK || out.Len() > 0 || !isProbe(errs.String(), port) {
		t.Errorf("status %d, stdout %q, stderr %q", status, out.String(), errs.String())
	}
}
