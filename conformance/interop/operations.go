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

// EveryOperation tests every operation of siw over one connection.
func EveryOperation(t *testing.T, g *Guest, c LinkConfig) {
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

// The Sends with Invalidate end regions of their receiver. TestRddpInvalidated shows that these are
// then closed.
func sendToSiw(t *testing.T, l *link) {
	for i := range 4 {
		op, solicited := []rdmap.WorkOp{rdmap.WorkSend, rdmap.WorkSendInvalidate}[i/2], i%2 == 1
		invalidates := op == rdmap.WorkSendInvalidate
		for _, n := range sizes {
			if invalidates && n != 0 && n != 4 && n != 65536 {
				continue // each needs a region: fewer are enough
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
	l.siw.Do("do op=send len=0") // when this arrives, so have siw's Writes
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

// allAtOnce makes both ends post Sends, Reads and Writes at the same time.
func allAtOnce(t *testing.T, l *link) {
	const n, size, step = 10, 3000, 3000
	l.siw.Do("fill seed=%d", siwSeed)
	memory := Pattern(ownSeed, regionLen)
	r := l.register(memory, ddp.RemoteRead|ddp.RemoteWrite)
	defer r.Deregister()
	// siw sends from its first octets, reads to 200000 and above, and writes from 100000 to 500000.
	// This stack's Writes go to 300000.
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

func hex32(n uint32) string { return fmt.Sprintf("%08x", n) }
