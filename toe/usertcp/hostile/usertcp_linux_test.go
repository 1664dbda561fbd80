package hostile_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

// The addresses of the two hosts of a net. The second one is the TCP in user space.
var lossyAddresses = [2][]netip.Prefix{
	{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd09::1/64")},
	{netip.MustParsePrefix("10.9.0.2/24"), netip.MustParsePrefix("fd09::2/64")},
}

// preferBBR chooses the congestion control of a socket, if the kernel has it. Reno and CUBIC treat
// loss as congestion: with 5 % loss they would be very slow.
func preferBBR(_, _ string, c syscall.RawConn) (err error) {
	c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "bbr") })
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// A userNet is a TCP in user space, a network namespace with the kernel's TCP, and a bad link
// between the two: from the Stack to the TUN device of the namespace.
type userNet struct {
	user   *usertcp.Stack
	host   *tun.Namespace
	link   *badlink.Joint
	resets *resetsOf
}

// newUserNet makes a net. cfg.AB are the faults of packets from the Stack to the kernel. Without
// the privilege to make a namespace the test is skipped, and with full counts it fails.
func newUserNet(t testing.TB, stack usertcp.Config, cfg badlink.Config) *userNet {
	t.Helper()
	x := new(userNet)
	var err error
	x.host, err = tun.NewNamespace()
	if errors.As(err, new(*tun.PrivilegeError)) && !testmode.Full {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.host.Close() })
	if cfg.MTU == 0 {
		cfg.MTU = 1500
	}
	device, err := tun.Open(tun.Config{Namespace: x.host, Addresses: lossyAddresses[0], MTU: cfg.MTU, QueueLen: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	goroutines := runtime.NumGoroutine()
	a, b := usertcp.Pipe(cfg.MTU)
	stack.Addresses = lossyAddresses[1]
	if x.user, err = usertcp.New(a, stack); err != nil {
		t.Fatal(err)
	}
	x.resets = &resetsOf{Device: device, fins: make(map[string]uint8)}
	// The context of t ends too early: before cleanup.
	if x.link, err = badlink.Join(context.Background(), b, x.resets, cfg); err != nil {
		t.Fatal(err)
	}
	linked := runtime.NumGoroutine()
	t.Cleanup(func() {
		settled(t, linked) // Close of a connection continues in the background, and needs the link
		x.user.Close()
		if err := x.link.Close(); err != nil {
			t.Error(err)
		}
		settled(t, goroutines)
	})
	return x
}

// A resetsOf is the kernel's device. It counts the TCP segments with RST.
type resetsOf struct {
	badlink.Device

	mu sync.Mutex
	// fins says, for each connection, whose FIN has passed: 1 the kernel's, 2 the Stack's, 3 both.
	// +checklocks:mu
	fins map[string]uint8
	// before counts the RSTs of connections that the two ends had not both closed in order.
	// +checklocks:mu
	before int
	// late counts the other RSTs. If a copy of a segment comes when its connection has ended, TCP
	// answers it with a RST (RFC 9293 §3.10.7.1), which has no effect.
	// +checklocks:mu
	late int
}

func (d *resetsOf) Read(p []byte) (n int, err error) {
	n, err = d.Device.Read(p)
	if err == nil {
		d.look(p[:n], true)
	}
	return n, err
}

func (d *resetsOf) Write(p []byte) (n int, err error) {
	d.look(p, false)
	return d.Device.Write(p)
}

// look looks at an IP packet. Here, packets with options or extension headers do not contain TCP.
func (d *resetsOf) look(p []byte, fromKernel bool) {
	const fin, syn, rst, ack = 1, 2, 4, 16
	var addresses, tcp []byte
	switch {
	case len(p) >= 40 && p[0] == 0x45 && p[9] == unix.IPPROTO_TCP:
		addresses, tcp = p[12:20], p[20:]
	case len(p) >= 60 && p[0]>>4 == 6 && p[6] == unix.IPPROTO_TCP:
		addresses, tcp = p[8:40], p[40:]
	default:
		return
	}
	half, ports, flags := len(addresses)/2, tcp[:4], tcp[13]
	bit := uint8(1)
	connection := string(addresses[:half]) + string(ports[:2]) + string(addresses[half:]) + string(ports[2:])
	if !fromKernel {
		bit = 2
		connection = string(addresses[half:]) + string(ports[2:]) + string(addresses[:half]) + string(ports[:2])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case flags&rst != 0 && d.fins[connection] == 3:
		d.late++
	case flags&rst != 0:
		d.before++
	case flags&(syn|ack) == syn: // a new connection between the same ports
		delete(d.fins, connection)
	case flags&fin != 0:
		d.fins[connection] |= bit
	}
}

// wantNoResets checks that no connection has ended with a RST.
func (x *userNet) wantNoResets(t testing.TB) {
	t.Helper()
	x.resets.mu.Lock()
	defer x.resets.mu.Unlock()
	t.Logf("%d RSTs about connections that had ended", x.resets.late)
	if x.resets.before > 0 {
		t.Errorf("%d RSTs ended connections", x.resets.before)
	}
}

// pairs listens at the address number which of the kernel or, if kernelDials is set, of the Stack.
// It returns a function that makes a connection from the other end.
func (x *userNet) pairs(t testing.TB, kernelDials bool, which int) scenario.Pairing {
	t.Helper()
	accept, address := x.listen(t, kernelDials, which)
	var mu sync.Mutex // so that accept returns the connection that was dialed
	return func() (a, b net.Conn, err error) {
		mu.Lock()
		defer mu.Unlock()
		if a, err = x.dial(t.Context(), kernelDials, address); err != nil {
			return nil, nil, err
		}
		b, err = accept()
		return a, b, err
	}
}

func (x *userNet) listen(t testing.TB, kernelDials bool, which int) (accept func() (net.Conn, error), address string) {
	t.Helper()
	if kernelDials {
		l, err := x.user.Listen(t.Context(), "tcp", netip.AddrPortFrom(lossyAddresses[1][which].Addr(), 0).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return func() (net.Conn, error) { return l.Accept() }, l.Addr().String()
	}
	var l net.Listener
	if err := x.host.Do(func() (err error) {
		lc := net.ListenConfig{Control: preferBBR}
		l, err = lc.Listen(t.Context(), "tcp", netip.AddrPortFrom(lossyAddresses[0][which].Addr(), 0).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Accept, l.Addr().String()
}

func (x *userNet) dial(ctx context.Context, kernelDials bool, address string) (c net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if !kernelDials {
		return x.user.Dial(ctx, "tcp", address)
	}
	err = x.host.Do(func() (err error) {
		c, err = (&net.Dialer{Control: preferBBR}).DialContext(ctx, "tcp", address)
		return err
	})
	return c, err
}
