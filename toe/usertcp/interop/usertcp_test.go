//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/rddp/rddp/conformance/interop"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// TestMain runs the tests in the directory of the harness, which builds the guest there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../../conformance/interop"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	nopanic.Exit(interop.Main(m))
}

// userTCP boots a new guest and makes a TCP in user space with the address interop.HostIP, on the
// Ethernet at the guest's eth0. Between the two there is no TCP of the host and no address
// translation. The link between them has no faults yet.
func userTCP(t *testing.T) (*interop.Guest, *usertcp.Stack, *badlink.Joint) {
	t.Helper()
	g := interop.Boot(t, interop.Config{Ethernet: true})
	a, b := usertcp.Pipe(g.Ethernet().MTU())
	s, err := usertcp.New(a, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix(interop.HostIP + "/24")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	link, err := badlink.Join(context.Background(), b, g.Ethernet(), badlink.Config{Seed: prototest.Seeded(t).Uint64()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { link.Close() })
	return g, s, link
}

// dialsOf is a TCP in user space that counts its connections.
type dialsOf struct {
	*usertcp.Stack
	dials int
}

func (b *dialsOf) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	b.dials++
	return b.Stack.Dial(ctx, network, address)
}

// TestUserTCP tests this stack over a TCP in user space against siw, which uses the TCP of its
// kernel. It runs every operation that siw has, with siw in both roles and with and without CRC, on
// a perfect path and on one with faults.
func TestUserTCP(t *testing.T) {
	g, user, link := userTCP(t)
	t.Run("siw rejects Markers", func(t *testing.T) { siwRejectsMarkers(t, g, user) })
	lossy := badlink.Faults{Loss: 0.02, Reorder: 0.05, Duplicate: 0.01}
	for _, path := range []struct {
		desc     string
		faults   badlink.Faults
		settings []interop.LinkSetting
	}{
		{"perfect", badlink.Faults{}, []interop.LinkSetting{interop.LinkSettings[0], interop.LinkSettings[1], interop.LinkSettings[len(interop.LinkSettings)-1]}},
		{"lossy", lossy, interop.LinkSettings[:2]},
	} {
		t.Run(path.desc, func(t *testing.T) {
			if err := link.SetFaults(path.faults, path.faults); err != nil {
				t.Fatal(err)
			}
			interop.EachOf(t, path.settings, func(*testing.T) *interop.Guest { return g }, func(t *testing.T, g *interop.Guest, c interop.LinkConfig) {
				c.User = user
				interop.EveryOperation(t, g, c)
			})
			there, back := link.Stats()
			t.Logf("to siw: %d packets, %d lost, %d late, %d twice; from siw: %d packets, %d lost, %d late, %d twice",
				there.In, there.Lost, there.Reordered, there.Duplicated, back.In, back.Lost, back.Reordered, back.Duplicated)
			if lost := there.Lost > 0 && back.Lost > 0; lost != (path.faults.Loss > 0) {
				t.Errorf("packets were lost both ways: %t", lost)
			}
		})
	}
}

// siwRejectsMarkers: over a TCP that shows early runs, Dial asks for Markers. siw rejects that
// Request, and Dial tries again without them.
func siwRejectsMarkers(t *testing.T, g *interop.Guest, user *usertcp.Stack) {
	siw := g.Peer(t)
	siw.Do("listen port=%d", interop.LinkPort)
	siw.Send("request sq=16 rq=16")
	siw.Send("accept ird=4 ord=4")
	ctx, cancel := context.WithTimeout(t.Context(), interop.LinkLimit)
	defer cancel()
	backend := &dialsOf{Stack: user}
	d := extsock.Dialer{Config: &extsock.Config{Backend: backend, IRD: 4, ORD: 4}}
	c, err := d.DialDDP(ctx, "tcp", net.JoinHostPort(interop.GuestIP, strconv.Itoa(interop.LinkPort)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := c.ConnectionState(); s.ReceivesMarkers || s.SendsMarkers {
		t.Errorf("the connection has Markers: %+v", s)
	}
	if backend.dials != 2 {
		t.Errorf("Dial has made %d connections, want one with a Request for Markers and one without", backend.dials)
	}
	siw.MustReply()
	siw.MustReply()
}
