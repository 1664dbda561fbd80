//go:build foreign

package foreign

// nettestSource is a test of package golang.org/x/net/nettest as its documentation says to use it,
// in both directions: the first connection of the pair is the dialing end, then the accepting end.
const nettestSource = `package nettest

import (
	"testing"

	"foreign.test/net"
	"golang.org/x/net/nettest"
)

func pair() (dialed, accepted net.Conn, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, nil, err
	}
	defer l.Close()
	if dialed, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, nil, err
	}
	if accepted, err = l.Accept(); err != nil {
		dialed.Close()
		return nil, nil, nil, err
	}
	return dialed, accepted, func() { dialed.Close(); accepted.Close() }, nil
}

func TestDialed(t *testing.T) { nettest.TestConn(t, pair) }

func TestAccepted(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		dialed, accepted, stop, err := pair()
		return accepted, dialed, stop, err
	})
}
`

func writeNettest(w *workspace) error { return w.write("nettest/nettest_test.go", nettestSource) }
