package rdmap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestRightsMatrix lets a peer try each operation on memory with each set of rights, registered for
// its stream, for all, for another stream, and in another Protection Domain. In every case that RFC
// 5042 §6.3.5 does not allow, this end sends the right Terminate, and no octet is changed or
// revealed.
//
// RDMAP-5040-8.1.1-2, RDMAP-5040-8.1.1-3, RDMAP-5040-8.1.1-6, RDMAP-5040-8.1.1-8, SEC-5042-2.2.2-1,
// SEC-5042-6.1.1-2, RDMAPX-7306-8.2-8, RDMAPX-7306-9-1
func TestRightsMatrix(t *testing.T) {
	m := newTargetMemory(t)
	scopes := []string{"same stream", "all streams", "other stream", "other domain"}
	cells := 0
	for access := range ddp.Access(16) {
		for _, scope := range scopes {
			for _, op := range []Opcode{OpWrite, OpReadRequest, OpReadResponse, OpAtomicRequest, OpSendInvalidate} {
				x := m.newTarget(true, 1)
				domain, stream := m.domain, m.stream
				switch scope {
				case "all streams":
					stream = 0
				case "other stream":
					stream += 1 << 32
				case "other domain":
					domain = new(ddp.Domain)
				}
				mem := aligned(8)
				r, err := domain.Register(mem, access, stream)
				if err != nil {
					t.Fatal(err)
				}
				x.hit(attempt(op, r))
				got, err := x.see()
				want := allowed(op, access, scope)
				changes := !want.refused && (op == OpWrite || op == OpAtomicRequest) || op == OpReadResponse && want == refused(0, 2, 6)
				if changed := !bytes.Equal(mem, make([]byte, 8)); got != want || err != nil || changed != changes {
					t.Errorf("%v on %v, %s: %+v, %v, memory changed %t, want %+v, %t", op, access, scope, got, err, changed, want, changes)
				}
				_, err = domain.Check(r.STag(), r.TO(), 8, 0, stream)
				if gone := op == OpSendInvalidate && !want.refused; gone != (err != nil) {
					t.Errorf("%v on %v, %s: afterwards the Region: %v", op, access, scope, err)
				}
				r.Deregister()
				cells++
			}
		}
	}
	t.Logf("%d cells: 16 sets of rights, 4 scopes, 5 operations", cells)
}

// attempt is a message that acts on the first 8 octets of r.
func attempt(op Opcode, r *ddp.Region) []byte {
	switch op {
	case OpReadRequest:
		return untagged(op, 1, 1, ReadRequest{SinkSTag: 7, Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}.AppendTo(nil))
	case OpAtomicRequest:
		return untagged(op, 1, 1, AtomicRequest{STag: r.STag(), TO: r.TO(), Data: 5, CompareMask: allBits}.AppendTo(nil))
	case OpSendInvalidate:
		return ddp.UntaggedHeader{Last: true, RsvdULP: Control(op), RsvdULP32: uint32(r.STag()), MSN: 1}.AppendTo(nil)
	}
	return tagged(op, r.STag(), r.TO(), []byte{1, 2, 3, 4, 5, 6, 7, 8})
}

// allowed returns the expected result of attempt.
func allowed(op Opcode, access ddp.Access, scope string) verdict {
	need := map[Opcode]ddp.Access{
		OpWrite: ddp.RemoteWrite, OpReadRequest: ddp.RemoteRead, OpReadResponse: ddp.ReadSink, OpAtomicRequest: ddp.RemoteAtomic,
	}[op]
	switch op {
	case OpSendInvalidate:
		switch {
		case scope == "other stream":
			return refused(0, 1, 9)
		case scope != "same stream" || access&ddp.ReadSink != 0:
			return refused(0, 2, 9)
		}
		return verdict{received: true}
	case OpWrite, OpReadResponse: // DDP's errors
		switch {
		case scope == "other domain":
			return refused(1, 1, 0)
		case scope == "other stream":
			return refused(1, 1, 2)
		case access&need == 0:
			return refused(1, 1, 0)
		case op == OpReadResponse:
			return refused(0, 2, 6) // a sink, but not of a Read
		}
		return verdict{}
	}
	switch { // RDMAP's
	case scope == "other domain":
		return refused(0, 1, 0)
	case scope == "other stream":
		return refused(0, 1, 3)
	case access&need == 0:
		return refused(0, 1, 2)
	}
	return verdict{answered: true}
}

// TestInvalidateOfOthers: an STag that the peer may not invalidate, because it is another stream's,
// is shared, or is the sink of our own Read, stays valid, and the streams that use it continue.
//
// "A peer must not be able to invalidate an STag that is shared on multiple streams": RFC 5040
// §8.1.1.
//
// RDMAP-5040-8.1.1-8, SEC-5042-6.4.5-2
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestInvalidateOfOthers(t *testing.T) {
	domain := new(ddp.Domain)
	x := newPair(t, params{domain: domain})
	own, mem := x.b.register(64, allAccess)
	shared, err := domain.Register(aligned(64), allAccess, 0)
	if err != nil {
		t.Fatal(err)
	}
	x.b.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: Handle{STag: own.STag(), TO: own.TO(), Len: 8}})
	m := &targetMemory{domain: domain, stream: 100, buf: make([]byte, targetRoom+128)}
	sink := x.b.qp.sq.at(0).sink
	for _, c := range []struct {
		desc string
		r    *ddp.Region
		want verdict
	}{
		{"another stream's", own, refused(0, 1, 9)},
		{"a shared one", shared, refused(0, 2, 9)},
		{"another stream's sink", sink, refused(0, 1, 9)},
	} {
		y := m.newTarget(true, 1)
		y.hit(attempt(OpSendInvalidate, c.r))
		if got, err := y.see(); got != c.want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", c.desc, got, err, c.want)
		}
		if _, err := domain.Check(c.r.STag(), c.r.TO(), 8, 0, x.b.stream()); err != nil {
			t.Errorf("%s is gone: %v", c.desc, err)
		}
	}
	x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Data: []byte("still on"), Remote: handle(own)})
	x.run()
	wantDone(t, "the first stream", x.a.sendCQ, "2 success")
	if !bytes.HasPrefix(mem, []byte("still on")) {
		t.Errorf("memory is %q", mem[:8])
	}
	// And the peer of the same stream: it tries the sink of a Read that waits.
	z := newPair(t, params{})
	z.a.post(WorkRequest{ID: 3, Op: WorkRead, Data: make([]byte, 8), Remote: Handle{STag: 5, TO: 5, Len: 8}})
	z.a.transmit()
	z.a.recv(1, 8)
	z.a.inject(attempt(OpSendInvalidate, z.a.qp.sq.at(0).sink))
	z.a.wantTerminate("0209")
}

// TestZeroLengthOperations: a million Reads and Writes of length 0 to random STags succeed; no STag
// is looked up or registered, and nothing is left over (RFC 5041 §5.2, RFC 5040 §5.2.1).
//
// SEC-5042-6.3.5-2
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestZeroLengthOperations(t *testing.T) {
	rnd := seeded(t)
	x := newPair(t, params{})
	n := testmode.Cases(1_000_000)
	completions := 0
	for i := range n {
		wr := WorkRequest{ID: uint64(i), Op: WorkWrite, Remote: Handle{STag: ddp.STag(rnd.Uint32()), TO: rnd.Uint64()}}
		if i%2 == 0 {
			wr.Op = WorkRead
		}
		x.a.post(wr)
		if i%16 != 15 && i != n-1 {
			continue
		}
		x.run()
		for _, c := range done(x.a.sendCQ) {
			if c.Status != StatusOK || c.Len != 0 {
				t.Fatalf("%v", c)
			}
			completions++
		}
		x.a.forget()
		x.b.forget()
	}
	if completions != n || x.a.sendCQ.promised() != 0 || regions(x.a.domain)+regions(x.b.domain) != 0 {
		t.Errorf("%d completions of %d, %d reserved, %d Regions", completions, n, x.a.sendCQ.promised(), regions(x.a.domain)+regions(x.b.domain))
	}
	t.Logf("%d operations of length 0 with random STags: all succeed, 0 Regions, 0 completions left over", n)
}

// forget clears the log of sent segments.
func (s *side) forget() { s.out, s.first = s.out[:0], s.first[:0] }

// TestReadRequestBounds lets a peer ask for octets anywhere. The verdict about the source of an
// RDMA Read must be the same as with numbers that cannot wrap.
//
// RDMAP-5040-8.1.1-4, SEC-5042-6.2.1-2, RDMAP-5040-7.2-9, RDMAP-5040-7.2-11 to RDMAP-5040-7.2-13
func TestReadRequestBounds(t *testing.T) {
	rnd := seeded(t)
	m := newTargetMemory(t)
	cases := testmode.Cases(200_000)
	var count [4]int
	var end, last big.Int
	base, size := m.region.TO(), uint64(targetRoom)
	edges := []uint64{0, 1, base, base + size, 1 << 31, 1 << 32, 1 << 63, ^uint64(0) - 31}
	x := m.newTarget(true, 1)
	msn := uint32(0)
	for range cases {
		to, n := edges[rnd.IntN(len(edges))]+rnd.Uint64N(64)-32, uint32(1+rnd.IntN(300))
		switch rnd.IntN(4) {
		case 0:
			n = rnd.Uint32()>>rnd.IntN(32) | 1
		case 1:
			to = rnd.Uint64()
		case 2:
			to = base + rnd.Uint64N(size)
		}
		s := m.region.STag()
		if rnd.IntN(16) == 0 {
			s++
		}
		end.SetUint64(to)
		end.Add(&end, big.NewInt(int64(n)))
		last.SetUint64(base)
		last.Add(&last, big.NewInt(int64(size)))
		want := verdict{answered: true}
		switch {
		case s != m.region.STag():
			want = refused(0, 1, 0)
			count[0]++
		case end.BitLen() > 64:
			want = refused(0, 1, 4)
			count[1]++
		case to < base || end.Cmp(&last) > 0:
			want = refused(0, 1, 1)
			count[2]++
		default:
			count[3]++
		}
		msn++
		x.hit(untagged(OpReadRequest, 1, msn, ReadRequest{SinkSTag: 7, Size: n, SourceSTag: s, SourceTO: to}.AppendTo(nil)))
		got, err := x.see()
		if got != want || err != nil {
			t.Fatalf("%d octets at %#x of a Region at %#x: %+v, %v, want %+v", n, to, base, got, err, want)
		}
		if got.refused {
			x, msn = m.newTarget(true, 1), 0
		}
	}
	t.Logf("%d Read Requests: refused %d for the STag, %d for a wrap, %d for the bounds; %d answered", cases, count[0], count[1], count[2], count[3])
}

// TestHandleBounds: Handle.Slice returns the same result as numbers that cannot wrap, and never
// more than the whole Handle.
func TestHandleBounds(t *testing.T) {
	rnd := seeded(t)
	cases := testmode.Cases(1_000_000)
	good := 0
	for range cases {
		h := Handle{STag: 1, TO: rnd.Uint64() >> rnd.IntN(64), Len: rnd.Uint32() >> rnd.IntN(32)}
		off, n := int64(rnd.Uint64())>>rnd.IntN(64), int(int64(rnd.Uint64())>>rnd.IntN(64))
		if rnd.IntN(2) == 0 {
			off, n = rnd.Int64N(int64(h.Len)+2), int(rnd.Uint32()>>rnd.IntN(32)>>1)
		}
		end := new(big.Int).Add(big.NewInt(off), big.NewInt(int64(n)))
		ok := off >= 0 && n >= 0 && end.Cmp(big.NewInt(int64(h.Len))) <= 0
		s, err := h.Slice(off, n)
		if ok != (err == nil) || ok && (s.TO != h.TO+uint64(off) || int64(s.Len) != int64(n) || s.STag != h.STag) {
			t.Fatalf("%+v.Slice(%d, %d) = %+v, %v", h, off, n, s, err)
		}
		if ok {
			good++
		}
	}
	t.Logf("%d slices, %d inside", cases, good)
	if good == 0 || good == cases {
		t.Error("not both verdicts came")
	}
}

// TestNothingOfAddresses: in ten thousand sessions no header that goes out contains the address of
// its memory, whole or in part.
func TestNothingOfAddresses(t *testing.T) {
	sessions := testmode.Cases(10_000)
	segments := 0
	for range sessions {
		x := newPair(t, params{depth: 4, cqDepth: 8, ird: 2, ord: 2})
		r, mem := x.b.register(64, allAccess)
		data, sink := make([]byte, 32), make([]byte, 32)
		buf := x.b.recv(1, 32)
		x.a.post(WorkRequest{Op: WorkWrite, Data: data, Remote: handle(r)})
		x.a.post(WorkRequest{Op: WorkRead, Data: sink, Remote: handle(r)})
		x.a.post(WorkRequest{Op: WorkSend, Data: data})
		x.a.post(WorkRequest{Op: WorkFetchAdd, Remote: handle(r)})
		x.run()
		for _, u := range append(x.a.first, x.b.first...) {
			segments++
			for _, b := range [][]byte{mem, data, sink, buf} {
				var address uint64
				fmt.Sscanf(fmt.Sprintf("%p", b), "0x%x", &address)
				le, be := binary.LittleEndian.AppendUint64(nil, address), binary.BigEndian.AppendUint64(nil, address)
				if bytes.Contains(u, be[3:]) || bytes.Contains(u, le[:5]) {
					t.Fatalf("segment %x has the address %#x", u, address)
				}
			}
		}
	}
	t.Logf("%d sessions, %d messages: 0 addresses", sessions, segments)
}
