//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// Every operation that siw has, from this stack to siw and back, one after the other over one
// connection for each way of starting it. Contents are compared at the end that got them.
func TestRddpOperations(t *testing.T) {
	eachLink(t, everyOperation)
}

// everyOperation does every operation that siw has over one connection.
func everyOperation(t *testing.T, g *Guest, c linkConfig) {
	l := newLink(t, g, c)
	for _, part := range []struct {
		desc string
		f    func(*testing.T, *link)
	}{
		{"Send to siw", sendToSiw}, {"Send from siw", sendFromSiw},
		{"Write to siw", writeToSiw}, {"Write from siw", writeFromSiw},
		{"Read from this stack", readSiw}, {"Read from siw", readBySiw},
		{"all at once", allAtOnce},
	} {
		ok := t.Run(part.desc, func(t *testing.T) {
			l.t, l.siw.t = t, t
			part.f(t, l)
		})
		l.t, l.siw.t = t, t
		if !ok {
			t.Fatalf("the connection is not fit for more after %q", part.desc)
		}
	}
	wantCRC(t, l, !c.own.NoCRC)
	l.end(c.siwInitiates)
}

// wantCRC checks that all FPDUs of both ends have CRCs, or none has.
func wantCRC(t *testing.T, l *link, want bool) {
	t.Helper()
	for _, sent := range []bool{true, false} {
		list := l.seen.fpdus(sent)
		if len(list) == 0 {
			t.Errorf("no FPDUs (sent by this stack: %t)", sent)
		}
		for i, f := range list {
			if f.hasCRC() != want {
				t.Errorf("FPDU %d (sent by this stack: %t), %v: has a CRC: %t, want %t", i, sent, f, f.hasCRC(), want)
				break
			}
		}
	}
}

// The Sends with Invalidate end regions of their receiver; TestRddpInvalidated shows that these are
// closed then.
func sendToSiw(t *testing.T, l *link) {
	for i := range 4 {
		op, solicited := []rdmap.WorkOp{rdmap.WorkSend, rdmap.WorkSendInvalidate}[i/2], i%2 == 1
		invalidates := op == rdmap.WorkSendInvalidate
		for _, n := range sizes {
			if invalidates && n != 0 && n != 4 && n != 65536 {
				continue // a region each: fewer will do
			}
			wr := rdmap.WorkRequest{Op: op, Solicited: solicited, Data: Pattern(ownSeed+i, n)}
			if invalidates {
				wr.Invalidate = ddp.STag(l.siw.Region(fmt.Sprintf("gone%d-%d", i, n), 8, "rw").STag)
			}
			l.do(wr)
			got := l.siw.Wait("rq", 1)[0]
			if got.Status != "success" || got.Len != n || got.CRC32 != crc32.ChecksumIEEE(wr.Data) {
				t.Errorf("%v of %d octets: siw got %+v", op, n, got)
			}
			if n > 0 && n <= 64 && !bytes.Equal(got.Data, wr.Data) {
				t.Errorf("%v of %d octets: siw got %x, want %x", op, n, got.Data, wr.Data)
			}
			l.siw.Do("recv len=%d", longest)
		}
	}
}

func sendFromSiw(t *testing.T, l *link) {
	for _, tt := range []struct {
		op                     string
		solicited, invalidates bool
	}{{"send", false, false}, {"sendse", true, false}, {"sendinv", false, true}, {"sendseinv", true, true}} {
		for _, n := range sizes {
			var gone extsock.Region
			if tt.invalidates {
				gone = l.register(make([]byte, 8), ddp.RemoteWrite)
			}
			inv := uint32(0)
			if tt.invalidates {
				inv = uint32(gone.Handle().STag)
			}
			l.siw.Do("do op=%s len=%d inv=%d", tt.op, n, inv)
			c, got := l.received()
			if want := Pattern(siwSeed, n); !bytes.Equal(got, want) {
				t.Errorf("%s of %d octets arrived changed: %v", tt.op, n, c)
			}
			if c.Solicited != tt.solicited || c.HasInvalidated != tt.invalidates || c.HasInvalidated && uint32(c.Invalidated) != inv {
				t.Errorf("%s of %d octets: %v, want solicited %t, STag %#x invalidated", tt.op, n, c, tt.solicited, inv)
			}
		}
	}
}

func writeToSiw(t *testing.T, l *link) {
	l.siw.Do("fill seed=%d", siwSeed)
	want := Pattern(siwSeed, regionLen)
	for i, n := range sizes {
		data := Pattern(ownSeed+i, n)
		off := 1000*i + 1
		l.do(rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: l.region.remote(off, n)})
		copy(want[off:], data)
	}
	l.sync()
	if got := l.siw.Do("sum").Last.Fields["crc32"]; got != hex32(crc32.ChecksumIEEE(want)) {
		t.Errorf("siw's memory has CRC-32 %s after the Writes, want %08x", got, crc32.ChecksumIEEE(want))
	}
}

func writeFromSiw(t *testing.T, l *link) {
	l.siw.Do("fill seed=%d", siwSeed)
	memory := Pattern(ownSeed, regionLen)
	want := slices.Clone(memory)
	r := l.register(memory, ddp.RemoteWrite)
	defer r.Deregister()
	for i, n := range sizes {
		off := 1000*i + 3
		l.siw.Do("do op=write len=%d off=%d stag=%d to=%d", n, i, r.Handle().STag, r.Handle().TO+uint64(off))
		copy(want[off:], Pattern(siwSeed, n+i)[i:])
	}
	l.siw.Do("do op=send len=0") // what siw has written is there when this is
	if c, _ := l.received(); c.Len != 0 {
		t.Errorf("the Send behind the Writes is %v", c)
	}
	if !bytes.Equal(memory, want) {
		t.Error("this stack's memory is not what siw wrote, or more has changed")
	}
}

func readSiw(t *testing.T, l *link) {
	l.siw.Do("fill seed=%d", siwSeed)
	for i, n := range sizes {
		const guard = 16
		sink := bytes.Repeat([]byte{0xee}, n+2*guard)
		want := slices.Clone(sink)
		copy(want[guard:], Pattern(siwSeed, n+i)[i:])
		l.do(rdmap.WorkRequest{Op: rdmap.WorkRead, Data: sink[guard : guard+n], Remote: l.region.remote(i, n)})
		if !bytes.Equal(sink, want) {
			t.Errorf("a Read of %d octets brought something else", n)
		}
	}
}

func readBySiw(t *testing.T, l *link) {
	l.siw.Do("fill seed=%d", siwSeed)
	want := Pattern(siwSeed, regionLen)
	r := l.register(Pattern(ownSeed, regionLen), ddp.RemoteRead)
	defer r.Deregister()
	for i, n := range sizes {
		off := 1000*i + 5
		l.siw.Do("do op=read len=%d off=%d stag=%d to=%d", n, off, r.Handle().STag, r.Handle().TO+uint64(i))
		copy(want[off:], Pattern(ownSeed, n+i)[i:])
	}
	if got := l.siw.Do("sum").Last.Fields["crc32"]; got != hex32(crc32.ChecksumIEEE(want)) {
		t.Errorf("siw's memory has CRC-32 %s after its Reads, want %08x", got, crc32.ChecksumIEEE(want))
	}
}

// allAtOnce has both ends post Sends, Reads and Writes at the same time.
func allAtOnce(t *testing.T, l *link) {
	const n, size, step = 10, 3000, 3000
	l.siw.Do("fill seed=%d", siwSeed)
	memory := Pattern(ownSeed, regionLen)
	r := l.register(memory, ddp.RemoteRead|ddp.RemoteWrite)
	defer r.Deregister()
	// siw sends from its first octets, reads into 200000 and what follows, and writes from 100000
	// to 500000. This stack's Writes go to 300000.
	l.siw.Send("post op=send n=%d len=%d step=1", n, size)
	l.siw.Send("post op=read n=%d len=%d off=200000 step=%d stag=%d to=%d", n, size, step, r.Handle().STag, r.Handle().TO)
	l.siw.Send("post op=write n=%d len=%d off=100000 step=%d stag=%d to=%d", n, size, step, r.Handle().STag, r.Handle().TO+500000)
	l.siw.Send("post op=send n=%d len=7 step=7", n)
	var wrs []rdmap.WorkRequest
	sinks := make([][]byte, n)
	data := Pattern(ownSeed, 100000)
	for i := range n {
		sinks[i] = make([]byte, size)
		wrs = append(wrs,
			rdmap.WorkRequest{Op: rdmap.WorkSend, Data: data[i:][:size]},
			rdmap.WorkRequest{Op: rdmap.WorkRead, Data: sinks[i], Remote: l.region.remote(step*i, size)},
			rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data[step*i:][:size], Remote: l.region.remote(300000+step*i, size)},
			rdmap.WorkRequest{Op: rdmap.WorkSend, Solicited: true, Data: data[7*i:][:7]})
	}
	for i := range wrs {
		wrs[i].ID = uint64(i)
	}
	if posted, err := l.conn.PostBatch(wrs); err != nil {
		t.Fatalf("request %d: %v", posted, err)
	}
	for i := range wrs {
		if c := l.completion(l.conn.SendCQ()); c.Status != rdmap.StatusOK || c.ID != uint64(i) {
			t.Fatalf("completion %d is %v", i, c)
		}
	}
	for range 4 {
		l.siw.MustReply()
	}
	for _, c := range l.siw.Wait("sq", 4*n) {
		if c.Status != "success" {
			t.Errorf("siw's %+v", c)
		}
	}
	for i, c := range l.siw.Wait("rq", 2*n) {
		want := data[i/2:][:size]
		if i%2 == 1 {
			want = data[7*(i/2):][:7]
		}
		if c.Status != "success" || c.CRC32 != crc32.ChecksumIEEE(want) {
			t.Errorf("siw's receive %d is %+v", i, c)
		}
	}
	l.siw.Do("recv n=%d len=%d", 2*n, longest)
	theirs := Pattern(siwSeed, regionLen)
	for i := range 2 * n {
		want := theirs[i%n:][:size]
		if i >= n {
			want = theirs[7*(i-n):][:7]
		}
		if _, got := l.received(); !bytes.Equal(got, want) {
			t.Errorf("message %d arrived changed", i)
		}
	}
	for i, sink := range sinks {
		if !bytes.Equal(sink, theirs[step*i:][:size]) {
			t.Errorf("Read %d brought something else", i)
		}
	}
	want := Pattern(ownSeed, regionLen)
	copy(want[500000:], theirs[100000:][:n*size])
	if !bytes.Equal(memory, want) {
		t.Error("this stack's memory is not what siw wrote")
	}
	copy(theirs[200000:], Pattern(ownSeed, n*size))
	copy(theirs[300000:], data[:n*size])
	if got := l.siw.Do("sum").Last.Fields["crc32"]; got != hex32(crc32.ChecksumIEEE(theirs)) {
		t.Errorf("siw's memory has CRC-32 %s, want %08x", got, crc32.ChecksumIEEE(theirs))
	}
}

// More Reads are posted at a time than the reader's ORD and the other's IRD allow: the rest waits.
// Revision 1 does not negotiate, so there each program has to know. The depths are powers of two
// because siw rounds its ORD up to one, beyond what it has agreed to (its fault "ORD"). And it
// offers more IRD than its program does.
func TestRddpManyReads(t *testing.T) {
	const n, size, few = 60, 5000, 4
	for _, tt := range []struct {
		desc         string
		siwInitiates bool
		params       []string
		own          extsock.Config
		siw          string
	}{
		{"siw is Responder, little IRD", false, nil, extsock.Config{IRD: few}, "ird=4 ord=16"},
		{"siw is Initiator, little IRD", true, nil, extsock.Config{IRD: few}, "ird=4 ord=16"},
		{"siw is Responder, little ORD", false, nil, extsock.Config{ORD: few}, "ird=16 ord=4"},
		{"siw is Initiator, little ORD", true, nil, extsock.Config{ORD: few}, "ird=16 ord=4"},
		{"siw is Responder, revision 1", false, nil, extsock.Config{Revision: 1, IRD: few, ORD: few}, "ird=4 ord=4"},
		{"siw is Initiator, revision 1", true, []string{"mpa_version=1"}, extsock.Config{IRD: few, ORD: few}, "ird=4 ord=4"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, tt.params...)
			tt.own.NoCRC = true
			l := newLink(t, g, linkConfig{siwInitiates: tt.siwInitiates, own: tt.own, siw: tt.siw})
			state := l.conn.ConnectionState()
			ird, ord := state.IRD, state.ORD
			if wantIRD, wantORD := l.wantDepths(tt.own); ird != wantIRD || ord != wantORD {
				t.Errorf("this stack's IRD is %d and its ORD %d, want %d and %d", ird, ord, wantIRD, wantORD)
			}
			readBothWays(t, l, n, size)
			if got := l.seen.mostReads(true); got > ord || got < ord/2 {
				t.Errorf("this stack had %d Reads under way at a time, its ORD is %d", got, ord)
			}
			if got := l.seen.mostReads(false); got > ird {
				t.Errorf("siw had %d Reads under way at a time, this stack's IRD is %d", got, ird)
			}
			l.end(tt.siwInitiates)
		})
	}
}

// wantDepths is what this stack's depths have to be after what the two startup frames say.
func (l *link) wantDepths(own extsock.Config) (ird, ord int) {
	l.t.Helper()
	ird, ord = own.IRD, own.ORD
	if ird == 0 {
		ird = 16
	}
	if ord == 0 {
		ord = 16
	}
	if f := l.seen.startup(l.t, false); f.Enhanced {
		ord = min(ord, int(f.IRD))
	}
	return ird, ord
}

// readBothWays has both ends post n Reads at once.
func readBothWays(t *testing.T, l *link, n, size int) {
	t.Helper()
	r := l.register(Pattern(ownSeed, n*size), ddp.RemoteRead)
	l.siw.Do("post op=read n=%d len=%d step=%d off=500000 stag=%d to=%d", n, size, size, r.Handle().STag, r.Handle().TO)
	sink := make([]byte, n*size)
	wrs := make([]rdmap.WorkRequest, n)
	for i := range wrs {
		wrs[i] = rdmap.WorkRequest{ID: uint64(i), Op: rdmap.WorkRead, Data: sink[i*size:][:size], Remote: l.region.remote(i*size, size)}
	}
	if posted, err := l.conn.PostBatch(wrs); err != nil {
		t.Fatalf("request %d: %v", posted, err)
	}
	for i := range n {
		if c := l.completion(l.conn.SendCQ()); c.Status != rdmap.StatusOK || c.ID != uint64(i) {
			t.Fatalf("completion %d is %v; siw had %d Reads under way", i, c, l.seen.mostReads(false))
		}
	}
	if !bytes.Equal(sink, Pattern(siwSeed, n*size)) {
		t.Error("the Reads brought something else")
	}
	for _, c := range l.siw.Wait("sq", n) {
		if c.Status != "success" {
			t.Fatalf("siw's %+v", c)
		}
	}
	want := hex32(crc32.ChecksumIEEE(Pattern(ownSeed, n*size)))
	if got := l.siw.Do("sum off=500000 len=%d", n*size).Last.Fields["crc32"]; got != want {
		t.Errorf("siw's Reads brought CRC-32 %s, want %s", got, want)
	}
}

// siw's fault "ORD": with an agreed ORD of 3 it may have 4 Reads under way. Whoever holds it to the
// 3 ends the connection.
func TestSiwORD(t *testing.T) {
	const n, size, agreed, ird = 30, 5000, 3, 4
	g := Start(t)
	g.SetSiw(t, "mpa_version=1") // nothing is negotiated: siw believes its program
	l := newLink(t, g, linkConfig{siwInitiates: true, own: extsock.Config{NoCRC: true, IRD: ird, ORD: agreed}, siw: "ird=3 ord=3"})
	readBothWays(t, l, n, size)
	got := l.seen.mostReads(false)
	t.Logf("siw had %d Reads under way at a time, its ORD is %d", got, agreed)
	if got > ird {
		t.Errorf("that is more than the %d siw is known for", ird)
	}
	l.end(false)
}
