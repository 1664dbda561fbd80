//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// TestNoAtomics: a device reports whether it has atomics. An RNIC has none, and no memory on demand
// for them. The offsets are those of the kernel's headers.
func TestNoAtomics(t *testing.T) {
	const atomics, pagingRC, pagingAtomic = 40 + 4*17, 176 + 8 + 8, 1 << 4
	for _, none := range []bool{false, true} {
		d, err := New(Config{Addresses: []netip.Addr{localhost}, RNIC: none})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		c, err := d.Open(Memory{Bytes: make([]byte, 1<<16), From: 4096})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := c.Do(nil, uverbs.QueryDevice|uverbs.Extended, make([]byte, 8), nil)
		if err != nil {
			t.Fatal(err)
		}
		kind, rc := binary.NativeEndian.Uint32(out[atomics:]), binary.NativeEndian.Uint32(out[pagingRC:])
		if (kind == 0) != none || (rc&pagingAtomic == 0) != none || rc == 0 {
			t.Errorf("without atomics %t: the kind is %d, memory on demand 0x%x", none, kind, rc)
		}
	}
}

// TestRNIC: as on cards for iWARP, a program can make RC queue pairs only, and not connect them
// without rdma_cm.
func TestRNIC(t *testing.T) {
	d, err := New(Config{Addresses: []netip.Addr{localhost}, RNIC: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := newProgram(t, d)
	for _, kind := range []uverbs.QPType{uverbs.UC, uverbs.UD} {
		in := uverbs.QP{PD: p.pd, SendCQ: p.cq.Handle, RecvCQ: p.cq.Handle, Type: kind}
		if _, _, err := p.ctx.Do(p, uverbs.CreateQP, in.AppendTo(nil), nil); !errors.Is(err, syscall.EOPNOTSUPP) {
			t.Errorf("a queue pair of type %v: %v, want %v", kind, err, syscall.EOPNOTSUPP)
		}
	}
	q := p.qp(nil)
	if err := q.Join(p.gid, q.Num); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a queue pair is connected by ibv_modify_qp: %v", err)
	}
}

// TestForeignAddress: the log says why there is no queue pair, because programs often do not even
// print the errno.
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

// TestTrueLimits: a queue of the size that the device reports as its limit gets no more than that,
// so a program may ask for as much as it has got.
func TestTrueLimits(t *testing.T) {
	p := newProgram(t, newDevice(t))
	q := p.qp(func(c *guest.QPConfig) { c.Depth, c.SGEs, c.Inline = limits.MaxQPWR, 1, 0 })
	p.ctx.mu.Lock()
	caps := p.ctx.qps[q.Handle].caps
	p.ctx.mu.Unlock()
	if caps.MaxSendWR != limits.MaxQPWR || caps.MaxRecvWR != limits.MaxQPWR {
		t.Errorf("a queue pair of %d has %+v", limits.MaxQPWR, caps)
	}
	if _, err := (&Device{limits: limits, maxInline: maxInline}).checkCaps(caps, false); err != nil {
		t.Errorf("the same sizes once more: %v", err)
	}
	in := words(0, 0, 0, 0, p.pd, limits.MaxSRQWR, 1, 0, 0, 0)
	out, _, err := p.ctx.Do(p, uverbs.CreateSRQ, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(out[4:]); got != limits.MaxSRQWR {
		t.Errorf("a shared queue of %d has %d", limits.MaxSRQWR, got)
	}
}

// TestRoomComesBack: after queues of one size have gone there is room for others.
func TestRoomComesBack(t *testing.T) {
	p := newProgram(t, newDevice(t)) // 64 MiB
	for depth := uint32(16); depth <= 8192; depth *= 2 {
		var all []*guest.QP
		for {
			q, err := p.Context.QP(guest.QPConfig{PD: p.pd, Send: p.cq, Recv: p.cq, Depth: depth, SGEs: 4, Inline: 64})
			if err != nil {
				break
			}
			all = append(all, q)
			if len(all) == 200 {
				break
			}
		}
		if len(all) == 0 {
			t.Fatalf("no queue pair of depth %d", depth)
		}
		for _, q := range all {
			if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
				t.Fatal(err)
			}
		}
	}
}
