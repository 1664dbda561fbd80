//go:build amd64 || arm64

package device

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/guest"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestNoAtomics: a device says whether it has atomics, and an RNIC has none, nor memory on demand for
// them. The places of the numbers are those of the kernel's headers.
func TestNoAtomics(t *testing.T) {
	const atomics, pagingRC, pagingAtomic = 40 + 4*17, 176 + 8 + 8, 1 << 4
	for _, none := range []bool{false, true} {
		d, err := New(Config{Addresses: []netip.Addr{localhost}, NoAtomics: none})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		c, err := d.Open(make([]byte, 1<<16))
		if err != nil {
			t.Fatal(err)
		}
		out, _, errno := c.Do(nil, uverbs.QueryDevice|uverbs.Extended, make([]byte, 8), nil)
		if errno != 0 {
			t.Fatal(errno)
		}
		kind, rc := binary.NativeEndian.Uint32(out[atomics:]), binary.NativeEndian.Uint32(out[pagingRC:])
		if (kind == 0) != none || (rc&pagingAtomic == 0) != none || rc == 0 {
			t.Errorf("without atomics %t: the kind is %d, memory on demand 0x%x", none, kind, rc)
		}
	}
}

// TestForeignAddress: the log says why there is no queue pair, because programs often do not even print the errno.
func TestForeignAddress(t *testing.T) {
	var log bytes.Buffer
	foreign := netip.MustParseAddr("203.0.113.7")
	d, err := New(Config{Addresses: []netip.Addr{foreign}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := newProgram(t, d)
	if _, err := p.Context.QP(guest.QPConfig{PD: p.pd, Send: p.cq, Recv: p.cq, Depth: 1}); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("a queue pair on an address of another host: %v, want %v", err, syscall.ENOMEM)
	}
	if s := log.String(); !strings.Contains(s, "WARN") || !strings.Contains(s, foreign.String()) {
		t.Errorf("the log does not say why: %q", s)
	}
}
