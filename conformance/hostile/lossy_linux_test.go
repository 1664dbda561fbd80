//go:build conformance || soak

package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
)

const lossySessions = 80

// The addresses of the two hosts of a net. The second one listens.
var lossyAddresses = [2][]netip.Prefix{
	{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd09::1/64")},
	{netip.MustParsePrefix("10.9.0.2/24"), netip.MustParsePrefix("fd09::2/64")},
}

// useBBR chooses the congestion control of a socket. Reno and CUBIC treat loss as congestion, so 5
// % loss would make them very slow.
func useBBR(_, _ string, c syscall.RawConn) (err error) {
	c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "bbr") })
	return err
}

// A lossyNet is two network namespaces, each with the kernel's TCP, and a bad link between their
// TUN devices.
type lossyNet struct {
	hosts [2]*tun.Namespace
	link  *badlink.Joint
}

// newLossyNet makes a net. It fails without root, /dev/net/tun and BBR.
func newLossyNet(t *testing.T, cfg badlink.Config) *lossyNet {
	t.Helper()
	x := new(lossyNet)
	var devices [2]*tun.Device
	for i := range x.hosts {
		var err error
		if x.hosts[i], err = tun.NewNamespace(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.hosts[i].Close() })
		devices[i], err = tun.Open(tun.Config{Namespace: x.hosts[i], Addresses: lossyAddresses[i], QueueLen: 5000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { devices[i].Close() })
	}
	goroutines := runtime.NumGoroutine()
	var err error // the context of t ends too early: before cleanup
	if x.link, err = badlink.Join(context.Background(), devices[0], devices[1], cfg); err != nil {
		t.Fatal(err)
	}
	linked := runtime.NumGoroutine()
	t.Cleanup(func() {
		settled(t, linked) // Close of a connection goes on in the background, and needs the link
		if err := x.link.Close(); err != nil {
			t.Error(err)
		}
		settled(t, goroutines)
	})
	return x
}

// pairs listens at the address number which of the second host. It returns a function that makes a
// connection between the hosts.
func (x *lossyNet) pairs(t *testing.T, which int) scenario.Pairing {
	t.Helper()
	var l net.Listener
	if err := x.hosts[1].Do(func() (err error) {
		lc := net.ListenConfig{Control: useBBR}
		l, err = lc.Listen(t.Context(), "tcp", netip.AddrPortFrom(lossyAddresses[1][which].Addr(), 0).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex // so that Accept returns the connection that was dialed
	return func() (a, b net.Conn, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err := x.hosts[0].Do(func() (err error) {
			a, err = (&net.Dialer{Control: useBBR, Timeout: time.Minute}).DialContext(t.Context(), "tcp", l.Addr().String())
			return err
		}); err != nil {
			return nil, nil, err
		}
		b, err = l.Accept()
		return a, b, err
	}
}

// lossyOctets returns the number of octets in each direction in TestLossyPath.
func lossyOctets() int64 {
	if testing.Short() {
		return 1e7
	}
	return 1e9
}

// TestLossyPath moves 10^9 octets in each direction at the same time through a path with faults, as
// byte streams on one connection and by RDMA Writes on two. The SHA-256 is equal. With -short it is
// 10^7 octets.
func TestLossyPath(t *testing.T) {
	octets := lossyOctets()
	for which, test := range []struct {
		form        string
		move        scenario.LossyMove
		connections int
	}{
		{"stream", scenario.LossyStreams, 1}, {"write", scenario.LossyWrites, 2},
	} {
		t.Run(test.form, func(t *testing.T) {
			x := newLossyNet(t, badlink.Config{Seed: seeded(t).Uint64(), AB: scenario.LossyFaults, BA: scenario.LossyFaults})
			scenario.MoveWantsSame(t, test.move, scenario.LossyPairs(t, x.pairs(t, which), test.connections), octets)
			scenario.WantLossy(t, x.link)
		})
	}
}

// TestLossySessions runs sessions with every operation on paths with faults, over IPv4 and IPv6.
// The second path also cuts and merges segments, and corrupts some.
func TestLossySessions(t *testing.T) {
	worse := scenario.LossyFaults
	worse.Split, worse.Merge, worse.Corrupt = 0.3, 0.3, 0.02
	for _, test := range []struct {
		desc   string
		faults badlink.Faults
	}{{"lossy", scenario.LossyFaults}, {"worse", worse}} {
		t.Run(test.desc, func(t *testing.T) {
			x := newLossyNet(t, badlink.Config{Seed: seeded(t).Uint64(), AB: test.faults, BA: test.faults})
			pairs := []scenario.Pairing{x.pairs(t, 0), x.pairs(t, 1)}
			inParallel(lossySessions, func(i int) {
				s := sessions[i/2%len(sessions)].Patient()
				a, b, err := pairs[i%2]()
				if err != nil {
					t.Error(err)
					return
				}
				done := make(chan error, 1)
				go func() { done <- s.Run(b, false) }()
				if err := errors.Join(s.Run(a, true), <-done); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
			})
			scenario.WantLossy(t, x.link)
		})
	}
}

// TestRepairedChecksums sends streams through a path that changes payload and repairs the TCP
// checksum. Over plain TCP wrong octets arrive. Over MPA none do: each connection ends with an
// error, nearly always a CRC error.
func TestRepairedChecksums(t *testing.T) {
	const octets, conns = 1 << 20, 10
	d := scenario.NewLossyData(0)
	want := d.Next(octets)
	x := newLossyNet(t, badlink.Config{Seed: seeded(t).Uint64()})
	pair := x.pairs(t, 0)
	bad := badlink.Faults{CorruptRepaired: 0.02}
	send := func(a, b net.Conn) (got []byte, err error) {
		if err := x.link.SetFaults(bad, badlink.Faults{}); err != nil {
			t.Fatal(err)
		}
		go func() {
			a.Write(want)
			a.Close()
		}()
		got, err = io.ReadAll(b)
		b.Close()
		if err := x.link.SetFaults(badlink.Faults{}, badlink.Faults{}); err != nil {
			t.Fatal(err)
		}
		return got, err
	}
	a, b, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := send(a, b); err != nil || len(got) != octets || bytes.Equal(got, want) {
		t.Errorf("plain TCP: %d octets, %v, want %d of which some are wrong", len(got), err, octets)
	}
	found := 0
	for range conns {
		ends := scenario.LossyPair(t, pair)
		got, err := send(ends[0], ends[1])
		if !bytes.HasPrefix(want, got) {
			t.Error("wrong octets arrived over MPA")
		}
		var m *mpa.Error
		if !errors.As(err, &m) || m.Code != mpa.CodeCRC && m.Code != mpa.CodeClosed {
			t.Errorf("%d octets arrived, and then %v, want an error of MPA", len(got), err)
		} else if m.Code == mpa.CodeCRC {
			found++
		}
	}
	ab, _ := x.link.Stats()
	t.Logf("%d of %d packets were changed; %d of %d connections ended with an error of the CRC", ab.Repaired, ab.In, found, conns)
	if found < conns/2 {
		t.Errorf("only %d of %d connections ended with an error of the CRC", found, conns)
	}
}
