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

// TestMulticast: the log says that multicast is not supported.
func TestMulticast(t *testing.T) {
	d, err := softrnic.New(softrnic.Config{Addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, cmd := range []ucma.Command{ucma.JoinMcast, ucma.JoinIPMcast} {
		var log bytes.Buffer
		m := New(Config{Device: d, Log: slog.New(slog.NewTextHandler(&log, nil))})
		c := m.Open(1, func(bool) {})
		if _, _, e := c.Do(nil, cmd, nil, 0); e != syscall.ENOSYS || !bytes.Contains(log.Bytes(), []byte("no multicast")) {
			t.Errorf("%v: %v, and in the log %q", cmd, e, &log)
		}
		c.Close()
		m.Close()
	}
}
