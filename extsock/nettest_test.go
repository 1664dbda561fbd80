package extsock_test

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestNetConn runs nettest, the Go project's test of net.Conn, on both modes, and on rsockets, over
// each kind of stream.
func TestNetConn(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		streams func(t testing.TB) (a, b net.Conn)
	}{
		{"kernel", kernelStreams},
		{"simulator", func(testing.TB) (a, b net.Conn) { return simtoe.Pair(simtoe.Config{}, simtoe.Config{}) }},
		{"unix", unixStreams},
		{"TLS", tlsStreams},
		{"pipe", func(testing.TB) (a, b net.Conn) { return net.Pipe() }},
	} {
		for _, mode := range []string{"TCP", "DDP", "rsockets"} {
			t.Run(tt.desc+"/"+mode, func(t *testing.T) {
				t.Parallel() // the tests mostly wait
				nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
					a, b := tt.streams(t)
					cfg := &extsock.Config{RSockets: mode == "rsockets"}
					ci, cr := extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)
					if mode != "TCP" {
						err = switchBoth(timeLimit(t), ci, cr)
					}
					return ci, cr, func() { ci.Close(); cr.Close() }, err
				})
			})
		}
	}
}

// unixStreams makes a connection over a unix socket.
func unixStreams(t testing.TB) (a, b net.Conn) {
	t.Helper()
	return socketPair(t, "unix", filepath.Join(t.TempDir(), "socket"))
}
