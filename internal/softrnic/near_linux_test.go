//go:build amd64 || arm64

package softrnic

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// overTCP makes the devices of tests connect over TCP, as if they were on two hosts.
var overTCP bool

// isJoinedNear reports whether the connection of a queue pair goes through memory, and checks that
// its FPDUs have CRCs if it does not. It waits for the connection.
func isJoinedNear(t *testing.T, p *program, q *guest.QP) (is bool) {
	t.Helper()
	qp := p.dev.find(q.Num)
	prototest.Wait(t, "a connection", func() bool {
		qp.mu.Lock()
		defer qp.mu.Unlock()
		if qp.link == nil {
			return false
		}
		is = isNear(qp.link.conn)
		if crc := qp.link.conn.Peer().Agreement.CRC; crc == is {
			t.Errorf("through memory: %v, with CRCs: %v", is, crc)
		}
		return true
	})
	return is
}

// ownPort returns a TCP port that no other process gets until the test ends. So the name of a
// listener through memory belongs to the test, too.
func ownPort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return addrPort(l.Addr()).Port()
}

// manage connects two queue pairs in INIT, or later, through memory, as a connection manager does.
// a dials.
func manage(t *testing.T, a, b *program, qa, qb *guest.QP) {
	t.Helper()
	pa, _ := a.dev.Pair(qa.Num)
	pb, _ := b.dev.Pair(qb.Num)
	to := netip.AddrPortFrom(localhost, ownPort(t))
	l := b.dev.ListenNear(shm.Services, to, false, &conn.Config{StartupTimeout: requestTime})
	if l == nil {
		t.Fatal("no listener")
	}
	defer l.Close()
	ctx := prototest.TimeLimit(t)
	started := make(chan error, 1)
	go func() {
		started <- func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			r, err := c.ReceiveRequest(ctx)
			if err != nil {
				return err
			}
			if err := r.Accept(ctx, pb.ConfigFor(c, Frames, 1, 1), nil); err != nil {
				return err
			}
			return pb.Start(c, Frames, false, qa.Num, nil, nil)
		}()
	}()
	c, err := a.dev.DialNear(ctx, shm.Services, netip.AddrPortFrom(localhost, 1), to, pa.Config(Frames, 1, 1), nil, pa)
	if c == nil || err != nil {
		t.Fatal(c, err)
	}
	if err := errors.Join(pa.Start(c, Frames, true, qb.Num, nil, nil), <-started); err != nil {
		t.Fatal(err)
	}
}

// TestManagedNear checks a connection through memory that a connection manager begins: its FPDUs
// have no CRCs.
func TestManagedNear(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	if err := errors.Join(qa.Modify(guest.Init, b.gid, qb.Num, nil), qb.Modify(guest.Init, a.gid, qa.Num, nil)); err != nil {
		t.Fatal(err)
	}
	manage(t, a, b, qa, qb)
	for p, q := range map[*program]*guest.QP{a: qa, b: qb} {
		if !isJoinedNear(t, p, q) {
			t.Error("not through memory")
		}
	}
}

// TestListenNear checks that a listener through memory accepts the connections that a TCP listener
// would accept.
func TestListenNear(t *testing.T) {
	four, six := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	d, err := New(Config{Addresses: []netip.Addr{four, six}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	port := ownPort(t)
	for _, test := range []struct {
		at                string
		only              bool
		takesFour, takes6 bool
	}{
		{"0.0.0.0", false, true, false},
		{"::", false, true, true},
		{"::", true, false, true},
		{"127.0.0.1", false, true, false},
		{"::ffff:127.0.0.1", false, true, false},
		{"::1", false, false, true},
		{"127.0.0.2", false, false, false},
	} {
		at := netip.AddrPortFrom(netip.MustParseAddr(test.at), port)
		l := d.ListenNear(shm.Services, at, test.only, &conn.Config{})
		if l == nil {
			t.Fatal("no listener")
		}
		for a, want := range map[netip.Addr]bool{four: test.takesFour, six: test.takes6} {
			s, err := shm.Dial(t.Context(), shm.Services, netip.AddrPortFrom(a, 1), netip.AddrPortFrom(a, port))
			if got := err == nil; got != want {
				t.Errorf("%v, only one family: %v: %v is taken: %v", test.at, test.only, a, got)
			}
			if err == nil {
				s.Close()
			}
		}
		l.Close()
	}
}

// TestOverTCP runs tests of queue pairs once more, over TCP.
func TestOverTCP(t *testing.T) {
	overTCP = true
	defer func() { overTCP = false }()
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"Write", TestWrite},
		{"Read", TestRead},
		{"Send", TestSend},
		{"InlineAndImmediate", TestInlineAndImmediate},
		{"Atomics", TestAtomics},
		{"ManyInOrder", TestManyInOrder},
		{"SendBeforeReceive", TestSendBeforeReceive},
		{"Errors", TestErrors},
		{"FlushAndRejoin", TestFlushAndRejoin},
		{"PeerGone", TestPeerGone},
		{"SharedReceiveQueue", TestSharedReceiveQueue},
		{"PingPong", TestPingPong},
		{"MemoryWindow", TestMemoryWindow},
		{"AheadOfRefused", TestAheadOfRefused},
	} {
		t.Run(test.name, test.run)
	}
}

// TestNear checks which connections go through memory.
func TestNear(t *testing.T) {
	for _, test := range []struct {
		desc string
		make func() (a, b *Device)
		want bool
	}{
		{"two devices of one host", func() (a, b *Device) { return newDevice(t), newDevice(t) }, true},
		{"one device", func() (a, b *Device) { a = newDevice(t); return a, a }, true},
		{"one end takes only TCP", func() (a, b *Device) {
			a = newDevice(t)
			overTCP = true
			defer func() { overTCP = false }()
			return a, newDevice(t)
		}, false},
		{"a network with faults", func() (a, b *Device) { return newDevice(t), newFaultyDevice(t, "delay=1ms") }, false},
		{"another fault", func() (a, b *Device) { return newDevice(t), newFaultyDevice(t, "register=ENOMEM@1000") }, true},
	} {
		for _, swapped := range []bool{false, true} { // the end with the lower number dials
			t.Run(test.desc, func(t *testing.T) {
				da, db := test.make()
				if swapped {
					da, db = db, da
				}
				a, b := newProgram(t, da), newProgram(t, db)
				qa, qb := a.qp(nil), b.qp(nil)
				joinPair(t, a, b, qa, qb)
				if err := qa.Post(guest.WR{Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
					t.Fatal(err)
				}
				a.want("Write", 0, uverbs.Success)
				for p, q := range map[*program]*guest.QP{a: qa, b: qb} {
					if got := isJoinedNear(t, p, q); got != test.want {
						t.Errorf("through memory: %v, want %v", got, test.want)
					}
				}
			})
		}
	}
}
