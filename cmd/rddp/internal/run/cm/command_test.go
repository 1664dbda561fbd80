//go:build linux

package cm

import (
	"bytes"
	"log/slog"
	"net/netip"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/softrnic"
)

// TestMulticast: joins fail as on a device without multicast, and the log says so. Whatever else is
// wrong with a command has the kernel's error.
func TestMulticast(t *testing.T) {
	d, err := softrnic.New(softrnic.Config{Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var log bytes.Buffer
	m := New(Config{Device: d, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer m.Close()
	c := m.Open(1, "", func(bool) {})
	other := m.Open(1, "", func(bool) {})
	defer c.Close()
	do := func(c *Channel, cmd ucma.Command, in []byte) (uint32, syscall.Errno) {
		_, out, e := c.Do(nil, cmd, in, 16)
		n, _ := ucma.ParseNumber(out)
		return n, e
	}
	id := func(s ucma.PortSpace, binds bool) uint32 {
		n, e := do(c, ucma.CreateID, (&ucma.IDRequest{UID: 1, PortSpace: s}).AppendTo(nil))
		if e == 0 && binds {
			b := ucma.BindRequest{ID: n, Addr: ucma.Address{AddrPort: netip.MustParseAddrPort("127.0.0.1:0")}}
			_, e = do(c, ucma.Bind, b.AppendTo(nil))
		}
		if e != 0 {
			t.Fatal(e)
		}
		return n
	}
	ready, idle, connections := id(ucma.UDP, true), id(ucma.UDP, false), id(ucma.TCP, true)
	group := ucma.Address{AddrPort: netip.MustParseAddrPort("224.1.2.3:0")}
	for _, tt := range []struct {
		desc string
		ch   *Channel
		join ucma.Join
		want syscall.Errno
	}{
		{"a group", c, ucma.Join{ID: ready, Addr: group}, syscall.ENOSYS},
		{"an id that does not exist", c, ucma.Join{ID: 1 << 20, Addr: group}, syscall.ENOENT},
		{"an id of another channel", other, ucma.Join{ID: ready, Addr: group}, syscall.EINVAL},
		{"an id without an address", c, ucma.Join{ID: idle, Addr: group}, syscall.EINVAL},
		{"an id for connections", c, ucma.Join{ID: connections, Addr: group}, syscall.EINVAL},
		{"no group", c, ucma.Join{ID: ready}, syscall.EINVAL},
	} {
		_, e := do(tt.ch, ucma.JoinMcast, tt.join.AppendTo(nil))
		_, ip := do(tt.ch, ucma.JoinIPMcast, tt.join.AppendIP(nil))
		if e != tt.want || ip != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.desc, e, ip, tt.want)
		}
	}
	if _, e := do(c, ucma.JoinMcast, (&ucma.Join{ID: ready, Addr: group, Flags: 2}).AppendTo(nil)); e != syscall.EINVAL {
		t.Errorf("with an unknown flag: %v", e)
	}
	if _, e := do(c, ucma.LeaveMcast, ucma.Numbers{ID: ready}.AppendAnswered(nil)); e != syscall.ENOENT {
		t.Errorf("LEAVE_MCAST: %v", e)
	}
	if n := bytes.Count(log.Bytes(), []byte("the device has no multicast\" group=224.1.2.3")); n != 2 {
		t.Errorf("the log says it %d times: %s", n, &log)
	}
}
