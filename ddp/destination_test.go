package ddp

import (
	"bytes"
	"testing"
)

// TestReceiverDestination checks that Destination returns the memory that Place fills, and nil for
// a segment that has no such memory or that Place will refuse. It changes neither the memory nor
// the Receiver.
func TestReceiverDestination(t *testing.T) {
	p := newPair(t)
	g := newGuarded(64)
	r := p.register(g.mem, RemoteWrite)
	unwritable := p.register(make([]byte, 64), RemoteRead)
	others := register(t, p.domain, make([]byte, 64), RemoteWrite, stream+1)
	gone := p.register(make([]byte, 64), RemoteWrite)
	gone.Deregister()
	payload := []byte{1, 2, 3, 4}
	segment := func(r *Region, at uint64) []byte {
		return append(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO() + at}.AppendTo(nil), payload...)
	}
	if d := p.r.Destination(segment(r, 8)); len(d) != len(payload) || &d[0] != &g.mem[8] {
		t.Errorf("Destination = %d bytes, want the %d at offset 8", len(d), len(payload))
	}
	none := map[string][]byte{
		"nothing":          nil,
		"short header":     segment(r, 8)[:TaggedHeaderLen-1],
		"no payload":       segment(r, 8)[:TaggedHeaderLen],
		"version":          append([]byte{0x80}, segment(r, 8)[1:]...),
		"untagged":         append(UntaggedHeader{Last: true, MSN: 1}.AppendTo(nil), payload...),
		"out of bounds":    segment(r, 61),
		"no right":         segment(unwritable, 8),
		"another stream":   segment(others, 8),
		"deregistered":     segment(gone, 8),
		"before the bound": segment(r, ^uint64(0)),
	}
	for desc, ulpdu := range none {
		if d := p.r.Destination(ulpdu); d != nil {
			t.Errorf("%s: Destination = %d bytes, want nil", desc, len(d))
		}
	}
	if g.mem[8] != guard || !g.intact() {
		t.Error("Destination has changed the memory")
	}
	p.wantIdle("Destination") // it is not an input
	p.place(segment(r, 8))
	p.wantMessage("the segment")
	if !bytes.Equal(g.mem[8:12], payload) {
		t.Errorf("memory = %x", g.mem)
	}
	r.Deregister() // no lock is still held
}

// A Receiver whose ULP does not accept the segment has no destination for it.
func TestReceiverDestinationRefused(t *testing.T) {
	p := newPairWith(t, func(c *ReceiverConfig) {
		c.Admit = func(bool, uint8, QN) (Access, error) { return 0, &Error{Code: CodeULP} }
	})
	r := p.register(make([]byte, 64), RemoteWrite)
	ulpdu := append(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO()}.AppendTo(nil), 1)
	if d := p.r.Destination(ulpdu); d != nil {
		t.Errorf("Destination = %d bytes, want nil", len(d))
	}
}
