package usertcp_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// namespaceEnv tells a test that it runs in its own network namespace.
const namespaceEnv = "USERTCP_NAMESPACE"

// inNamespace runs the test t in a new process, in a network namespace where that process has every
// privilege, and returns true there. Root may always make a network namespace, and on most systems
// every user may make one together with a user namespace.
func inNamespace(t *testing.T) bool {
	t.Helper()
	flags := uintptr(unix.CLONE_NEWNET)
	if os.Geteuid() != 0 {
		flags |= unix.CLONE_NEWUSER
	}
	return inNamespaces(t, flags)
}

// inNamespaces runs the test t in a new process, in new namespaces, and returns true there. If the
// kernel refuses to make the namespaces, the test is skipped.
func inNamespaces(t *testing.T, flags uintptr) bool {
	t.Helper()
	if os.Getenv(namespaceEnv) == t.Name() {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.count=1"}
	args = append(args, "-test.timeout="+prototest.Patience(t).String()) // a little before ours, so that the output says where it hangs
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), namespaceEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if flags&unix.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) && cmd.Process == nil {
		t.Skipf("this user may not make the namespaces: %v", err)
	}
	if err != nil {
		t.Errorf("in the namespace: %v\n%s", err, out)
	}
	return false
}

// netlink sends one request to the kernel's routing tables and waits for its acknowledgement.
func netlink(t *testing.T, kind uint16, flags int, body ...[]byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	m := make([]byte, unix.NLMSG_HDRLEN)
	for _, b := range body {
		m = append(m, b...)
	}
	binary.NativeEndian.PutUint32(m, uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], kind)
	binary.NativeEndian.PutUint16(m[6:], uint16(flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK))
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < unix.NLMSG_HDRLEN+4 {
		t.Fatalf("netlink: %d bytes, %v", n, err)
	}
	if errno := -int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); errno != 0 {
		t.Fatalf("netlink request %d: %v", kind, syscall.Errno(errno))
	}
}

// attribute returns a netlink attribute.
func attribute(kind uint16, values ...[]byte) []byte {
	a := make([]byte, unix.SizeofRtAttr)
	for _, v := range values {
		a = append(a, v...)
	}
	binary.NativeEndian.PutUint16(a, uint16(len(a)))
	binary.NativeEndian.PutUint16(a[2:], kind)
	for len(a)%unix.NLMSG_ALIGNTO != 0 {
		a = append(a, 0)
	}
	return a
}

// interfaceMessage returns a struct ifinfomsg for the interface of this index.
func interfaceMessage(index int, flags uint32) []byte {
	m := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(m[4:], uint32(index))
	binary.NativeEndian.PutUint32(m[8:], flags)
	binary.NativeEndian.PutUint32(m[12:], unix.IFF_UP) // what changes
	return m
}

// setUp gives the interface name its addresses in the kernel and switches it on.
func setUp(t *testing.T, name string, addrs ...string) {
	t.Helper()
	i, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range addrs {
		p := netip.MustParsePrefix(s)
		m := make([]byte, unix.SizeofIfAddrmsg)
		m[0], m[1], m[2] = unix.AF_INET6, byte(p.Bits()), unix.IFA_F_NODAD
		if p.Addr().Is4() {
			m[0] = unix.AF_INET
		}
		binary.NativeEndian.PutUint32(m[4:], uint32(i.Index))
		address := p.Addr().AsSlice()
		netlink(t, unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m, attribute(unix.IFA_LOCAL, address), attribute(unix.IFA_ADDRESS, address))
	}
	netlink(t, unix.RTM_NEWLINK, 0, interfaceMessage(i.Index, unix.IFF_UP))
}

// makeVeth makes two Ethernet interfaces that are connected with each other.
func makeVeth(t *testing.T, a, b string) {
	t.Helper()
	const peer = 1 // VETH_INFO_PEER
	cstring := func(s string) []byte { return append([]byte(s), 0) }
	netlink(t, unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, interfaceMessage(0, 0), attribute(unix.IFLA_IFNAME, cstring(a)),
		attribute(unix.IFLA_LINKINFO, attribute(unix.IFLA_INFO_KIND, cstring("veth")),
			attribute(unix.IFLA_INFO_DATA, attribute(peer, interfaceMessage(0, 0), attribute(unix.IFLA_IFNAME, cstring(b))))))
}
