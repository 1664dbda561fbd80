//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// TestLoopbackIsNoGID: with rdma_cm, programs reach each other at 127.0.0.1 even if that is no GID.
func TestLoopbackIsNoGID(t *testing.T) {
	set := addressOfTest + "=127.0.0.2"
	for _, face := range []string{supervise, superviseIWARP} {
		file := namedPipe(t)
		first := under(performance(t, "connect", "first", file)...)
		second := under(performance(t, "connect", "second", file)...)
		first.Args[0], second.Args[0] = face, face
		first.Env, second.Env = append(os.Environ(), set), append(os.Environ(), set)
		if err := errors.Join(first.Start(), second.Run(), first.Wait()); err != nil {
			t.Errorf("%s: %v", face, err)
		}
	}
	c := under(performance(t, "datagrams")...)
	c.Env = append(os.Environ(), set)
	if err := c.Run(); err != nil {
		t.Errorf("datagrams: %v", err)
	}
}

func TestDefaultAddresses(t *testing.T) {
	const local = "127.0.0.1/8 ::1/128 fe80::1/64 "
	for all, want := range map[string]string{
		local:                "[127.0.0.1 ::1]",
		local + "10.0.0.1/8": "[10.0.0.1]",
		local + "fd00::1/64": "[fd00::1]",
		"fd00::1/64 " + local + "10.0.0.1/8 2001:db8::1/64 10.0.0.2/8": "[10.0.0.1 10.0.0.2 fd00::1 2001:db8::1]",
		"169.254.1.1/16 " + local:                                      "[127.0.0.1 ::1]",
		"fe80::1/64":                                                   "[]",
	} {
		var addrs []net.Addr
		for _, a := range strings.Fields(all) {
			ip, n, err := net.ParseCIDR(a)
			if err != nil {
				t.Fatal(err)
			}
			addrs = append(addrs, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		if got := fmt.Sprint(defaultsOf(addrs)); got != want {
			t.Errorf("%s: %s, want %s", all, got, want)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for a, good := range map[string]bool{
		"127.0.0.1": true, "127.0.0.9": true, "fe80::1%lo": false, "fe80::1": false, "203.0.113.9": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "ff02::1": false,
	} {
		if err := CheckAddress(netip.MustParseAddr(a)); (err == nil) != good {
			t.Errorf("%s: %v", a, err)
		}
	}
}
