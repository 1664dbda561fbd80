//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// A checkLog has what the checker has found.
type checkLog struct {
	t  *testing.T
	mu sync.Mutex
	b  bytes.Buffer // +checklocks:mu
}

func (l *checkLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// wants checks that the log has these texts, and no other finding.
func (l *checkLog) wants(texts ...string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		if !strings.Contains(l.b.String(), text) {
			l.t.Errorf("there is no finding %q", text)
		}
	}
	if n := strings.Count(l.b.String(), "\n"); n != len(texts) {
		l.t.Errorf("%d findings, want %d:\n%s", n, len(texts), &l.b)
	}
	l.b.Reset()
}

// newChecked returns a program that is checked, on a device of its own.
func newChecked(t *testing.T) (*program, *checkLog) {
	t.Helper()
	l := &checkLog{t: t}
	d, err := New(Config{Addresses: []netip.Addr{localhost}, OnlyTCP: overTCP, Check: check.NewReporter(slog.New(slog.NewTextHandler(l, nil)), nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return newProgram(t, d), l
}

// TestCheckLeft: each object that the program has left is found when it closes the device, and not
// those that it has destroyed.
func TestCheckLeft(t *testing.T) {
	p, log := newChecked(t)
	q := p.qp(nil)
	if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
		t.Fatal(err)
	}
	left := p.qp(nil)
	if _, err := p.SRQ(p.pd, 4, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Channel(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.AH(p.pd, p.gid); err != nil {
		t.Fatal(err)
	}
	_ = left
	log.wants()
	p.ctx.Close()
	log.wants("QP ", "CQ ", "SRQ ", "AH ", "MR ", "PD ", "completion channel 1")
}

// TestCheckUnmaps: memory that is given up while it is registered is found, and other memory is
// not.
func TestCheckUnmaps(t *testing.T) {
	p, log := newChecked(t)
	own := func(Process) bool { return true }
	end := p.mr.Addr + memoryLen
	p.ctx.Unmaps(own, end, 4096)
	p.ctx.Unmaps(own, p.mr.Addr-4096, 4096)
	p.ctx.Unmaps(func(Process) bool { return false }, p.mr.Addr, 4096)
	log.wants()
	p.ctx.Unmaps(own, end-4096, 8192)
	log.wants("or dropped their pages, and has not deregistered them")
}

// TestCheckUnmappedBefore: so is memory that is gone when it is deregistered.
func TestCheckUnmappedBefore(t *testing.T) {
	p, log := newChecked(t)
	b, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []bool{false, true} {
		m, err := p.Register(p.pd, b, guest.All)
		if err != nil {
			t.Fatal(err)
		}
		if gone {
			if err := unix.Munmap(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Free(uint32(uverbs.DeregMR), m.Handle); err != nil {
			t.Fatal(err)
		}
		if !gone {
			log.wants()
		}
	}
	log.wants("has not deregistered them")
}
