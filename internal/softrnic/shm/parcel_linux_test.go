package shm

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

// A borrower is a reader that takes parcels, if it wants them.
type borrower struct {
	lender
	wants bool
	got   []toe.Parcel
}

func (b *borrower) Borrow(p toe.Parcel) bool {
	if b.wants {
		b.got = append(b.got, p)
	}
	return b.wants
}

// offered returns n bytes of payload, which are c, in a parcel that a is to pass if the peer is in
// this process. release is for the writer.
func offered(a *Stream, n int, c byte) (p *Parcel, payload []byte, release func()) {
	o := a.NewParcel(n)
	if o == nil {
		p = NewParcel()
		o = p
	} else {
		p = o.(*offer).p
	}
	b, at := o.Memory()
	payload = b[at : at+n]
	for i := range payload {
		payload[i] = c
	}
	return p, payload, o.Release
}

// TestParcelPassed checks that a reader in this process gets the memory of a payload, and not a
// copy, in its place in the stream, and that the memory is in use until the reader releases it.
func TestParcelPassed(t *testing.T) {
	a, b := pairHere(t)
	p, payload, release := offered(a, ParcelLen, 'p')
	if n, err := a.TryWriteBatch([][]byte{[]byte("front"), payload, []byte("behind")}); n != ParcelLen+11 || err != nil {
		t.Fatal(n, err)
	}
	release()
	buf := make([]byte, 100)
	l := &borrower{lender: func() []byte { return buf }, wants: true}
	read := func() int {
		n, _, err := b.ReadSegment(l, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := read(); string(buf[:n]) != "front" {
		t.Fatalf("%q in front of the payload", buf[:n])
	}
	if n := read(); n != ParcelLen || len(l.got) != 1 || l.got[0] != toe.Parcel(p) {
		t.Fatalf("%d bytes in %d parcels, want %d in the one that was offered", n, len(l.got), ParcelLen)
	}
	if n := read(); string(buf[:n]) != "behind" {
		t.Fatalf("%q behind the payload", buf[:n])
	}
	if n := p.users.Load(); n != 1 {
		t.Errorf("%d users of the parcel, want the reader", n)
	}
	if whole, at := p.Memory(); &whole[at] != &payload[0] || len(whole)-at < 64<<10 {
		t.Errorf("the payload is not at %d of %d bytes", at, len(whole))
	}
	p.Release()
}

// TestParcelCopied checks that a reader that takes no parcels gets the same bytes, in pieces of any
// length, and that each parcel is released then.
func TestParcelCopied(t *testing.T) {
	for _, of := range []struct {
		desc string
		pair func(testing.TB) (a, b *Stream)
	}{{"one process", pairHere}, {"two processes", pair}} {
		t.Run(of.desc, func(t *testing.T) {
			a, b := of.pair(t)
			b.SetDeadline(prototest.Deadline(t))
			var want []byte
			var parcels []*Parcel
			for i := range 40 { // the ring is full now and then
				p, payload, release := offered(a, ParcelLen-i, byte(i))
				parcels = append(parcels, p)
				bufs := [][]byte{{1, 2, 3}, payload, {4}}
				want = append(append(append(want, 1, 2, 3), payload...), 4)
				for len(bufs) > 0 {
					n, err := a.TryWriteBatch(bufs)
					if err != nil {
						t.Fatal(err)
					}
					for ; len(bufs) > 0 && n >= len(bufs[0]); bufs = bufs[1:] {
						n -= len(bufs[0])
					}
					if len(bufs) > 0 {
						bufs[0] = bufs[0][n:]
						want = readSome(t, b, want, i)
					}
				}
				release()
			}
			for len(want) > 0 {
				want = readSome(t, b, want, 7)
			}
			for i, p := range parcels {
				if n := p.users.Load(); n != 0 {
					t.Errorf("parcel %d has %d users at the end", i, n)
				}
			}
			a.out.mu.Lock()
			defer a.out.mu.Unlock()
			if len(a.out.offered) > 0 {
				t.Errorf("%d parcels are still offered", len(a.out.offered))
			}
		})
	}
}

// readSome reads bytes, which must be the first of want, and returns the others.
func readSome(t *testing.T, b *Stream, want []byte, i int) []byte {
	t.Helper()
	buf := make([]byte, 1+i*5000)
	n, _, err := b.ReadSegment(&borrower{lender: func() []byte { return buf }}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n > len(want) || !bytes.Equal(buf[:n], want[:n]) {
		t.Fatalf("%d other bytes than were written", n)
	}
	return want[n:]
}

// TestParcelAfterClose checks that a reader may use a parcel when the connection has ended.
func TestParcelAfterClose(t *testing.T) {
	a, b := pairHere(t)
	_, payload, release := offered(a, ParcelLen, 'p')
	if n, err := a.TryWriteBatch([][]byte{payload}); n != ParcelLen || err != nil {
		t.Fatal(n, err)
	}
	release()
	l := &closer{borrower: borrower{lender: func() []byte { return make([]byte, 8) }, wants: true}, a: a, b: b}
	if n, _, err := b.ReadSegment(l, 0); n != ParcelLen || err != nil {
		t.Fatal(n, err)
	}
	if whole, at := l.got[0].Memory(); whole[at] != 'p' || whole[at+ParcelLen-1] != 'p' {
		t.Error("the payload has changed")
	}
	l.got[0].Release()
	if _, _, err := b.ReadSegment(l, 0); err == nil {
		t.Error("the stream goes on")
	}
}

// A closer gets a parcel while another goroutine closes both ends.
type closer struct {
	borrower
	a, b *Stream
}

func (c *closer) Borrow(p toe.Parcel) bool {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.a.Close()
		c.b.Close()
	}()
	<-closed
	return c.borrower.Borrow(p)
}
