package sockets_test

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/extsock"
)

// TestNetConn runs the standard test of net.Conn for both modes.
func TestNetConn(t *testing.T) {
	for _, mode := range []string{"TCP", "DDP"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // they mostly wait
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				a, b := userStreams(t)
				ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
				if mode == "DDP" {
					err = switchBoth(timeLimit(t), ci, cr)
				}
				return ci, cr, func() { ci.Close(); cr.Close() }, err
			})
		})
	}
}
