package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

func TestRunUsage(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "no program given"},
		{"--address here true", "--address: "},
		{"--fault nothing true", "--fault: "},
		{"--suppress f true", "--suppress needs --check"},
		{"--check-status 1 true", "--check-status needs --check"},
		{"--check --check-status 256 true", "--check-status 256: must be from 0 to 255"},
		{"--check --suppress /nowhere true", "--suppress: open /nowhere: no such file"},
		{"--check --suppress /proc/self/comm true", "--suppress: /proc/self/comm: line 1: there is no kind of finding"},
		{"--tcp 80 true", `--tcp: rule "80": want [ADDRESS[/BITS]]:PORT[-PORT]`},
		{"--tcp :80 --tcp far:80 true", "is neither an IPv4 address nor an IPv6 address in brackets"},
		{"--tcp :80 --timeout 0s true", "--timeout 0s: must be more than zero"},
		{"--tcp-listen 80 true", `--tcp-listen: rule "80": want [ADDRESS[/BITS]]:PORT[-PORT]`},
		{"--tls-self true", "--tls-self needs --tcp or --tcp-listen"},
		{"--plain-too true", "--plain-too needs --tcp or --tcp-listen"},
		{"--timeout 3s true", "--timeout needs --tcp or --tcp-listen"},
		{"--plain-too --tcp :80 true", "--plain-too needs TLS"},
		{"--tls-self --tcp :80 true", "--tls-self: this end is the TLS client"},
		{"--tls-ca f --tcp-listen :80 true", "--tls-ca: this end is the TLS server"},
		{"--tls-self --tcp :80 --tcp-listen :80 true", "with --tcp and --tcp-listen, TLS needs"},
		{"--tls-self=false --tls-server-name far --tcp :80 --tcp-listen :80 true", "with --tcp and --tcp-listen, TLS needs"},
		{"--tls-ca= --tcp :80 true", "--tls-ca is empty"},
		{"--tls-self --tls-client-ca= --tcp-listen :80 true", "--tls-client-ca is empty"},
		{"--tls-client-ca f --tcp-listen :80 true", "--tls-client-ca and --tls-pin need"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := runs(t, []*cli.Command{runCommand()}, append([]string{"run"}, strings.Fields(tt.args)...)...)
			if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "rddp run: ") || !strings.Contains(stderr, tt.want) {
				t.Errorf("rddp run %s: status %d, stdout %q, stderr %q, want status %d and %q", tt.args, status, stdout, stderr, exitUsage, tt.want)
			}
		})
	}
}
