package perf

import (
	"testing"
	"time"
)

// Every step of every operation is taken, also of messages that need several FPDUs.
func TestBreakdown(t *testing.T) {
	o := complete(t, &Options{Ops: []string{"write", "send", "read"}, Sizes: []int{1, 300_000}, CRC: []bool{true, false}, Rounds: 2, Time: time.Millisecond, Ring: 1 << 20})
	results := []Result{{Op: "message", Size: 1, Depth: 1, CRC: "on", Conns: 2, MsgsPerS: 1e4, CPUPerOp: 30}}
	all, err := breakdowns(t.Context(), o, results)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 12 {
		t.Errorf("%d breakdowns, want 12", len(all))
	}
	for _, b := range all {
		if b.Count < 2 || (b.Sockets > 0) != (b.Op == "send") || b.Sum <= 0 || b.TCP <= 0 || len(b.Steps) != steps {
			t.Errorf("%+v", b)
		}
		for _, i := range []int{stepWrite, stepRead} { // system calls
			if b.Steps[i].NS <= 0 {
				t.Errorf("%s of %d bytes: step %q takes no time", b.Op, b.Size, b.Steps[i].What)
			}
		}
		if has := b.Op == "send" && b.Size == 1 && b.CRC == "on"; (b.WholeCPU > 0) != has || has && (b.WholeCPU != 15e3 || b.WholeTime != 100e3) {
			t.Errorf("%s of %d bytes, CRC %s: whole %v, %v", b.Op, b.Size, b.CRC, b.WholeCPU, b.WholeTime)
		}
	}
}

// What the hand-driven layers write arrives: bytes of one ring are in the other one afterwards.
func TestHandPairMovesBytes(t *testing.T) {
	for _, name := range []string{"write", "send", "read"} {
		op, _ := operationOf(name)
		o := complete(t, &Options{Sizes: []int{200_000}, Ring: 1 << 20})
		p, err := newHandPair(t.Context(), o, job{operation: op, crc: true, size: 200_000, depth: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		from, to := p.a.ring, p.b.ring
		if name == "read" {
			from, to = to, from
		}
		clear(to)
		for i := range from {
			from[i] = byte(i * 7)
		}
		for range 3 {
			if err := p.operate(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range to {
			if want := byte(0); i < 600_000 && to[i] != from[i] || i >= 600_000 && to[i] != want {
				t.Fatalf("%s: byte %d is %d", name, i, to[i])
			}
		}
	}
}
