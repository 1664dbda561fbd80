//go:build conformance

package tun_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/rddp/rddp/toe/tun"
)

// namespace makes a network namespace for the test. Without the privilege the test fails.
func namespace(t *testing.T) *tun.Namespace {
	t.Helper()
	n, err := tun.NewNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func device(t *testing.T, cfg tun.Config) *tun.Device {
	t.Helper()
	d, err := tun.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestPackets sends a datagram from the kernel to the program, which sends it back with addresses
// and ports swapped.
func TestPackets(t *testing.T) {
	for _, test := range []struct {
		desc, address, peer string
		addrs, ports        int // offsets of the addresses and ports in the packet
	}{
		{"IPv4", "10.9.0.1/24", "10.9.0.2", 12, 20},
		{"IPv6", "fd09::1/64", "fd09::2", 8, 40},
	} {
		t.Run(test.desc, func(t *testing.T) {
			ns, own := namespace(t), netip.MustParsePrefix(test.address)
			d := device(t, tun.Config{Name: "rddp0", Namespace: ns, MTU: 9000, Addresses: []netip.Prefix{own}})
			if d.Name() != "rddp0" || d.MTU() != 9000 {
				t.Errorf("name %q, MTU %d", d.Name(), d.MTU())
			}
			var c *net.UDPConn
			peer := netip.AddrPortFrom(netip.MustParseAddr(test.peer), 7)
			if err := ns.Do(func() (err error) {
				c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(peer))
				return err
			}); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			want := bytes.Repeat([]byte("datagram"), 1000)
			if _, err := c.Write(want); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, d.MTU())
			for { // the kernel may also send packets, such as Router Solicitations
				n, err := d.Read(p)
				if err != nil {
					t.Fatal(err)
				}
				if n < test.ports+8+len(want) || !bytes.Equal(p[test.ports+8:n], want) {
					continue
				}
				exchange(p[test.addrs:test.ports])
				exchange(p[test.ports:][:4])
				if _, err := d.Write(p[:n]); err != nil { // checksums do not depend on the order
					t.Fatal(err)
				}
				break
			}
			got := make([]byte, len(want)+1)
			if n, err := c.Read(got); err != nil || !bytes.Equal(got[:n], want) {
				t.Errorf("read %d bytes, %v", n, err)
			}
		})
	}
}

// exchange swaps the halves of p.
func exchange(p []byte) {
	h := len(p) / 2
	for i := range h {
		p[i], p[h+i] = p[h+i], p[i]
	}
}

// TestWriteNeverWaits writes many datagrams to a kernel whose program reads none of them.
func TestWriteNeverWaits(t *testing.T) {
	ns := namespace(t)
	d := device(t, tun.Config{Namespace: ns, Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}})
	var c *net.UDPConn
	if err := ns.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, &net.UDPAddr{IP: net.IPv4(10, 9, 0, 2), Port: 7})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	const udp = 17
	p := make([]byte, d.MTU())
	n, err := d.Read(p)
	for ; err == nil && (n < 1000 || p[9] != udp); n, err = d.Read(p) {
	}
	if err != nil {
		t.Fatal(err)
	}
	exchange(p[12:20])
	exchange(p[20:24])
	for k := range 20_000 {
		if m, err := d.Write(p[:n]); m != n || err != nil {
			t.Fatalf("Write %d = %d, %v", k, m, err)
		}
	}
}

func TestReadShortBuffer(t *testing.T) {
	d := device(t, tun.Config{Namespace: namespace(t)})
	if n, err := d.Read(make([]byte, d.MTU()-1)); n != 0 || !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("Read returned %d, %v, want %v", n, err, io.ErrShortBuffer)
	}
}

func TestClose(t *testing.T) {
	d := device(t, tun.Config{Namespace: namespace(t)})
	result := make(chan error)
	go func() {
		for {
			if _, err := d.Read(make([]byte, d.MTU())); err != nil {
				result <- err
				return
			}
		}
	}()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read returned %v, want %v", err, net.ErrClosed)
	}
	if _, err := d.Write(make([]byte, 20)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write returned %v, want %v", err, net.ErrClosed)
	}
	if err := d.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the second Close returned %v, want %v", err, net.ErrClosed)
	}
}

// TestNamespace: a new namespace has a loopback interface that is up, and no other.
func TestNamespace(t *testing.T) {
	var inside []net.Interface
	if err := namespace(t).Do(func() (err error) {
		inside, err = net.Interfaces()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(inside) != 1 || inside[0].Flags&(net.FlagUp|net.FlagLoopback) != net.FlagUp|net.FlagLoopback {
		t.Errorf("inside are %v, want only a loopback interface that is up", inside)
	}
}

// TestDoGoexit: a function that ends its goroutine does not make Do wait forever.
func TestDoGoexit(t *testing.T) {
	if err := namespace(t).Do(func() error { runtime.Goexit(); return nil }); err == nil {
		t.Error("Do returned no error")
	}
}
