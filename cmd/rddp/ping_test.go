package main

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

func TestPingUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "give one ADDRESS, or --listen ADDRESS"},
		{"127.0.0.1 7174", "give one ADDRESS, or --listen ADDRESS"},
		{"--listen 127.0.0.1 127.0.0.1", `unexpected argument "127.0.0.1"`},
		{"127.0.0.1 -s 0", "--size 0: the size is 1 to 1g bytes"},
		{"127.0.0.1 -s 1073741825", "--size 1073741825: the size is 1 to 1g bytes"},
		{"127.0.0.1 -s many", `"many" is no size: write a number of bytes`},
		{"127.0.0.1 -c -1", "--count -1: at least 1"},
		{"127.0.0.1 -c 0", "--count 0: at least 1"},
		{"127.0.0.1 -c1", "there is no flag -c1: write -c 1\n"},
		{"127.0.0.1 -s4k", "there is no flag -s4k: write -s 4k\n"},
		{"127.0.0.1 -P1", "there is no flag --P1\n"},
		{"127.0.0.1 -c 4k", `"4k" is no number that this flag takes`},
		{"127.0.0.1 -i 0s", "--interval 0s: must be more than zero"},
		{"127.0.0.1 -i 1", `"1" is no duration: write a number with a unit`},
		{"127.0.0.1 -f -i 1s", "give either --flood or --interval"},
		{"127.0.0.1 -P", "--persistent is for a server"},
		{"--listen 127.0.0.1 -c 1", "--count is for a client"},
		{"--listen 127.0.0.1 -f", "--flood is for a client"},
		{"--listen 127.0.0.1 --json", "--json is for a client"},
		{"127.0.0.1:65536", "the port is a number from 0 to 65535"},
		{"7174", "for a port on all addresses write :7174"},
		{"user@127.0.0.1", "an address has no user"},
		{"unix:/tmp/x", "only `rddp proxy` has unix sockets"},
		{"127.0.0.1 --revision 3", "revisions 1 and 2"},
		{"127.0.0.1 --revision 1 --p2p", "--p2p needs --revision 2"},
		{"127.0.0.1 --rtr read", "--rtr needs --p2p"},
		{"127.0.0.1 --p2p --rtr swap", `--rtr: "swap"`},
		{"127.0.0.1 --timeout 0s", "--timeout 0s"},
		{"127.0.0.1 --log xml", `"xml" is neither text nor json`},
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
		status := run(ctx, strings.Fields("rddp ping --print-data --listen 127.0.0.1:0"), &out, errs, []*cli.Command{pingCommand()})
		served <- result{status, out.String(), errs.String()}
	}()
	port := awaitListener(t, errs, served)
	status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, strings.Fields("ping -fV --print-data 127.0.0.1:"+port+" -c 2 -s 20")...)
	want := regexp.MustCompile(`^ping data: rdma-ping-0: ABCDEF\nping data: rdma-ping-1: BCDEFG\n2 pings of 20 bytes, RTT min/avg/max [0-9.]+[µm]s/[0-9.]+[µm]s/[0-9.]+[µm]s, p50/p90/p99 [0-9.]+[µm]s/[0-9.]+[µm]s/[0-9.]+[µm]s\n$`)
	if status != exitOK || !want.MatchString(stdout) || stderr != "" {
		t.Errorf("client: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	r := <-served
	if want := "server ping data: rdma-ping-0: ABCDEF\nserver ping data: rdma-ping-1: BCDEFG\n"; r.status != exitOK || r.stdout != want || !isProbe(r.stderr, port) {
		t.Errorf("server: status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}

// awaitListener waits until the server listens, and returns its port. It also connects, and waits
// until the server has logged that this connection ended without a Request. Otherwise a faster
// client could end the server first.
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

// isProbe reports whether a server's stderr contains exactly the line with its address and the line
// about awaitListener's connection.
func isProbe(stderr, port string) bool {
	first, rest, _ := strings.Cut(stderr, "\n")
	return strings.HasSuffix(first, " level=INFO msg=listening address=127.0.0.1:"+port) && strings.Count(rest, "\n") == 1 &&
		strings.Contains(rest, ` level=WARN msg="connection failed" peer=127.0.0.1:`) && strings.Contains(rest, "without an MPA Request")
}

// A client prints a line for each ping and a summary, or a JSON object for each.
func TestPingOutput(t *testing.T) {
	_, _, errs := startTLS(t, tlsPair{server: "ping -P --listen 127.0.0.1:0"}, "", "")
	address := errs.address(<-errs.lines)
	const number = `[0-9.]+[µm]?s`
	for _, tt := range []struct{ flags, want string }{
		{"-i 1ms -c 2", "^20 bytes from " + address + ": ping 0, " + number + "\n20 bytes from " + address + ": ping 1, " + number + "\n2 pings of 20 bytes, RTT "},
		{"-f -c 1", "^1 ping of 20 bytes, RTT .*\n$"},
		{"-i 1ms -c 2 --json", `^{"kind":"ping","ping":0,"size":20,"time_ns":\d+}\n{"kind":"ping","ping":1,"size":20,"time_ns":\d+}\n` +
			`{"kind":"summary","pings":2,"size":20,"min_ns":\d+,"avg_ns":\d+,"p50_ns":\d+,"p90_ns":\d+,"p99_ns":\d+,"max_ns":\d+}\n$`},
		{"-f -c 2 --json", `^{"kind":"summary","pings":2,[^\n]*}\n$`},
	} {
		status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, strings.Fields("ping -s 20 "+tt.flags+" "+address)...)
		if status != exitOK || !regexp.MustCompile(tt.want).MatchString(stdout) || stderr != "" {
			t.Errorf("rddp ping %s: status %d, stdout %q, stderr %q", tt.flags, status, stdout, stderr)
		}
	}
}

func TestPingRefused(t *testing.T) {
	_, port, err := net.SplitHostPort(prototest.ClosedPort(t))
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runs(t, []*cli.Command{pingCommand()}, "ping", "127.0.0.1:"+port, "-c", "1")
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
		served <- run(ctx, strings.Fields("rddp ping -P --listen 127.0.0.1:0"), &out, errs, []*cli.Command{pingCommand()})
	}()
	port := awaitListener(t, errs, served)
	cancel()
	if status := <-served; status != exitOK || out.Len() > 0 || !isProbe(errs.String(), port) {
		t.Errorf("status %d, stdout %q, stderr %q", status, out.String(), errs.String())
	}
}
