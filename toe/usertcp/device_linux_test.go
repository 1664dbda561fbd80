package usertcp_test

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

const (
	kernelIPv4, userIPv4 = "10.9.0.1", "10.9.0.2"
	kernelIPv6, userIPv6 = "fd09::1", "fd09::2"
)

// userAddrs are the addresses of the Stack that connects to the kernel, kernelAddrs those of the
// kernel.
var (
	userAddrs   = []netip.Prefix{netip.MustParsePrefix(userIPv4 + "/24"), netip.MustParsePrefix(userIPv6 + "/64")}
	kernelAddrs = []netip.Prefix{netip.MustParsePrefix(kernelIPv4 + "/24"), netip.MustParsePrefix(kernelIPv6 + "/64")}
)

// openTUN opens a TUN device in the namespace of the process, with the kernel's addresses.
func openTUN(t *testing.T) *tun.Device {
	t.Helper()
	d, err := tun.Open(tun.Config{Addresses: kernelAddrs})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTUN checks the contract between a Stack and the kernel's TCP, over a TUN device.
func TestTUN(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	meetKernel(t, openTUN(t))
}

// TestRaw checks the contract between a Stack and the kernel's TCP, over a packet socket of one end
// of a veth pair. The other end is the kernel's.
func TestRaw(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	makeVeth(t, "rddp0", "rddp1")
	setUp(t, "rddp0", kernelIPv4+"/24", kernelIPv6+"/64")
	setUp(t, "rddp1")
	l, err := usertcp.OpenRaw("rddp1")
	if err != nil {
		t.Fatal(err)
	}
	meetKernel(t, l)
}

// meetKernel checks the contract between the kernel's TCP and a Stack over l, in both directions.
func meetKernel(t *testing.T, l usertcp.Link) {
	user := newStack(t, l, usertcp.Config{Addresses: userAddrs, NoEarlyRuns: true}) // like the kernel
	ours := new(kernel.Backend)
	for _, test := range []struct {
		desc             string
		dialer, listener toe.Backend
		address          string
	}{
		{"the Stack dials IPv4", user, ours, kernelIPv4 + ":0"},
		{"the kernel dials IPv6", ours, user, "[" + userIPv6 + "]:0"},
	} {
		t.Run(test.desc, func(t *testing.T) {
			toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) {
				return connect(t, test.dialer, test.listener, "tcp", test.address)
			})
		})
	}
}

// TestEMSSOfKernel compares the EMSS of the Stack with the segment size of the kernel at the other
// end. gVisor reserves room for SACK options, and the kernel does not.
func TestEMSSOfKernel(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	user := newStack(t, openTUN(t), usertcp.Config{Addresses: userAddrs})
	a, b := connect(t, user, new(kernel.Backend), "tcp", kernelIPv4+":0")
	defer a.Close()
	defer b.Close()
	const sack = 28
	if got, want := a.EMSS(), b.EMSS()-sack; got != want {
		t.Errorf("EMSS() = %d, want %d", got, want)
	}
}

// TestTUNInUserNamespace opens a device with only the privileges that every user can get: those of
// root in a user namespace.
func TestTUNInUserNamespace(t *testing.T) {
	if !inNamespaces(t, unix.CLONE_NEWUSER|unix.CLONE_NEWNET) {
		return
	}
	user := newStack(t, openTUN(t), usertcp.Config{Addresses: userAddrs})
	a, b := connect(t, user, new(kernel.Backend), "tcp", kernelIPv4+":0")
	defer a.Close()
	defer b.Close()
	if err := toetest.Transfer(a, b, 1<<20, 1); err != nil {
		t.Fatal(err)
	}
}

// TestDevicesWithoutPrivilege runs in a user namespace, whose root has no privilege in the original
// network namespace. The error names the capability that is missing.
func TestDevicesWithoutPrivilege(t *testing.T) {
	if !inNamespaces(t, unix.CLONE_NEWUSER) {
		return
	}
	_, err := tun.Open(tun.Config{})
	var privilege *tun.PrivilegeError
	if !errors.As(err, &privilege) || privilege.Capability != "CAP_NET_ADMIN" || !errors.Is(err, os.ErrPermission) {
		t.Errorf("tun.Open = %v, want a PrivilegeError that names CAP_NET_ADMIN", err)
	}
	_, err = usertcp.OpenRaw("rddp0")
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "CAP_NET_RAW") {
		t.Errorf("OpenRaw = %v, want an error that names CAP_NET_RAW", err)
	}
}
