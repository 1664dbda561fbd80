package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

func TestProxyUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "give both --listen ADDRESS and --to ADDRESS"},
		{"-l :0", "give both --listen ADDRESS and --to ADDRESS"},
		{"-l :0 -to rddp://far --routes f", "give either --routes or --listen and --to"},
		{"-l 127.0.0.1:0 -to rddp://far --health here", `"here" has no port`},
		{"-l 127.0.0.1:0 -to rddp://far --health :0", "listening at :0: other hosts could connect without TLS"},
		{"-l :0 -to rddp://far x", `unexpected argument "x"`},
		{"-l 127.0.0.1:0 -to 127.0.0.1:1", "must be DDP (rddp://HOST[:PORT]) and the other one plain"},
		{"-listen rddp://:0 -to rddp://far", "--listen rddp://:0 --to rddp://far:7174: one of the two addresses must be DDP"},
		{"-l here -to rddp://far", `"here" has no port: write HOST:PORT; or write unix:PATH`},
		{"-l :0 -to rddp://far/x", `"far/x": '/' is not in the name of a host`},
		{"-l :0 -to rddp://", "is no address"},
		{"-l :0 -to rddp://far:70000", "the port is a number from 0 to 65535"},
		{"-l :0 -to rddp://user@far", "an address has no user"},
		{"-l unix: -to rddp://far", "has no path"},
		{"-l :0 -to rddp://far --max-conns 0", "--max-conns 0: at least 1"},
		{"-l rddp://:0 -to 127.0.0.1:1 --fallback", "--fallback is for an entrance"},
		{"-l :0 -to rddp://far --accept-proxy 192.0.2.1/24", `--accept-proxy: "192.0.2.1/24" is neither an IP address nor a prefix`},
		{"-l :0 -to rddp://far --send-proxy v3", `"v3" is neither v1 nor v2`},
		{"-l :0 -to rddp://far --timeout 0s", "--timeout 0s: must be more than zero"},
		{"-l :0 -to rddp://far --idle -1s", "--idle -1s: must not be negative"},
		{"-l :0 -to rddp://far --grace -1s", "--grace -1s: must not be negative"},
		{"-l :0 -to rddp://far --stats -1s", "--stats -1s: must not be negative"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := runs(t, []*cli.Command{proxyCommand()}, append([]string{"proxy"}, strings.Fields(tt.args)...)...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "rddp proxy: ") || !strings.Contains(stderr, tt.want) {
				t.Errorf("rddp proxy %s: status %d, stdout %q, stderr %q, want status %d and %q", tt.args, status, stdout, stderr, exitUsage, tt.want)
			}
		})
	}
}

func TestProxyCannotListen(t *testing.T) {
	status, stdout, stderr := runs(t, []*cli.Command{proxyCommand()}, "proxy", "--insecure", "-l", "192.0.2.1:1", "-to", "rddp://192.0.2.2")
	if status != exitFailure || stdout != "" || !strings.HasPrefix(stderr, "rddp proxy: listening at 192.0.2.1:1: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}
