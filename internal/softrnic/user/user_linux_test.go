package user

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestRelation checks the relation of UIDs, with and without a mapping of all users.
func TestRelation(t *testing.T) {
	const overflow = 65534
	for _, tt := range []struct {
		desc      string
		uid, own  uint32
		allMapped bool
		want      Relation
	}{
		{"one user", 1000, 1000, false, Same},
		{"two users", 1000, 1001, false, Another},
		{"root and a user", 0, 1000, true, Another},
		{"a user and root", 1000, 0, true, Another},
		{"nobody, where each user has a number", overflow, overflow, true, Same},
		{"nobody, where some users have none", overflow, overflow, false, Unknown},
		{"a user without a number", overflow, 1000, false, Another},
	} {
		got := relation(tt.uid, tt.own, func() uint32 { return overflow }, func() bool { return tt.allMapped })
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.desc, got, tt.want)
		}
	}
}

// TestMapsAll checks which uid_maps map every user.
func TestMapsAll(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"         0          0 4294967295\n", true},
		{"         0          0 65534\n     65534      65534 4294901761\n", true},
		{"         0       1000          1\n", false},
		{"         0       1000          1\n         1     100000      65536\n", false},
		{"", false},
		{"0 0\n", false},
		{"0 0 x\n", false},
	} {
		if got := mapsAll(tt.text); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.text, got, tt.want)
		}
	}
}

func addr(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// TestOfTCP checks connections of two users, with a listener for IPv4, IPv6, or both.
func TestOfTCP(t *testing.T) {
	const env = "RDDP_TEST_USER_AT"
	if at := os.Getenv(env); at != "" {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// The other end closes the connection after its check.
		_, _ = c.Read(make([]byte, 1))
		return
	}
	for _, at := range []struct{ listen, dial string }{
		{"127.0.0.1:0", "127.0.0.1"}, {"[::1]:0", "::1"}, {"[::]:0", "127.0.0.1"}, {"[::]:0", "::1"},
	} {
		l, err := net.Listen("tcp", at.listen)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		to := net.JoinHostPort(at.dial, port(l))
		near, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []net.Conn{near, far} {
			if got := OfTCP(addr(c.LocalAddr()), addr(c.RemoteAddr())); got != Same {
				t.Errorf("%s, at %v: %v", to, c.LocalAddr(), got)
			}
		}
		// The kernel shows user 0 for an end that its process has closed. A peer may also
		// half-close and continue.
		if err := near.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := OfTCP(addr(far.LocalAddr()), addr(far.RemoteAddr())); got != Ending {
			t.Errorf("%s, behind a FIN: %v", to, got)
		}
		near.Close()
		prototest.Wait(t, "the end", func() bool { return OfTCP(addr(far.LocalAddr()), addr(far.RemoteAddr())) == Ending })
		far.Close()
		if os.Geteuid() != 0 {
			continue // only root can become another user
		}
		c := exec.Command("/proc/self/exe", "-test.run=^TestOfTCP$", "-test.count=1")
		c.Env, c.Dir = append(os.Environ(), env+"="+to), "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		other, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := OfTCP(addr(other.LocalAddr()), addr(other.RemoteAddr())); got != Another {
			t.Errorf("user 65534, at %s: %v", to, got)
		}
		other.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func port(l net.Listener) string {
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

// TestOfNoSocket checks peers whose socket this kernel does not show: one on another host, and one
// on this host that is gone, even if a socket listens at its address.
func TestOfNoSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	far := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), addr(all.Addr()).Port()) // of another host, with a port that is one here
	for _, tt := range []struct {
		remote netip.AddrPort
		want   Relation
	}{{far, Unknown}, {netip.MustParseAddrPort("192.0.2.1:7"), Unknown}, {addr(l.Addr()), Ending}, {netip.MustParseAddrPort("127.0.0.2:1"), Ending}} {
		if got := OfTCP(netip.MustParseAddrPort("127.0.0.1:1"), tt.remote); got != tt.want {
			t.Errorf("a peer at %v: %v, want %v", tt.remote, got, tt.want)
		}
	}
}

// TestParseAnswer checks invalid answers.
func TestParseAnswer(t *testing.T) {
	b := make([]byte, answerLen)
	native.PutUint16(b[4:], sockDiagByFamily)
	if _, err := parseAnswer(b); err != nil {
		t.Error(err)
	}
	for n := range len(b) {
		if _, err := parseAnswer(b[:n]); err == nil {
			t.Errorf("an answer of %d bytes", n)
		}
	}
	native.PutUint16(b[4:], 2) // NLMSG_ERROR
	if _, err := parseAnswer(b); err == nil {
		t.Error("an error is an answer")
	}
}
