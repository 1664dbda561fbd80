package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A lender is a Conn whose Read has granted its memory to a raw peer.
type lender struct {
	t    *testing.T
	p    *rawPeer
	c    *extsock.Conn
	h    rdmap.Handle
	read chan readEnd
	msn  uint32
}

type readEnd struct {
	n   int
	err error
}

// lend begins a Read into buf, and an offer of as many octets.
func lend(t *testing.T, buf []byte) *lender {
	t.Helper()
	p, c := rawStreamPair(t, extsock.Config{CloseTimeout: time.Second}, 32)
	l := &lender{t: t, p: p, c: c, read: make(chan readEnd, 1), msn: 1}
	go func() { n, err := c.Read(buf); l.read <- readEnd{n, err} }()
	synctest.Wait()
	l.h = p.grantFor(l.msn, uint32(len(buf)))
	return l
}

// message sends a message of the byte stream.
func (l *lender) message(m ...byte) {
	l.msn++
	l.p.segment(l.msn, 0, true, m...)
	synctest.Wait()
}

func (l *lender) done(n int) {
	l.message(binary.BigEndian.AppendUint32([]byte{3, 0, 0, 0}, uint32(n))...)
}

// place writes n octets to the beginning of the grant.
func (l *lender) place(n int) {
	th := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: l.h.STag, TO: l.h.TO}
	l.p.send(append(th.AppendTo(nil), bytes.Repeat([]byte{'p'}, n)...)...)
	synctest.Wait()
}

// leave ends the Read by its deadline.
func (l *lender) leave() {
	l.t.Helper()
	l.c.SetReadDeadline(time.Now())
	if r := <-l.read; r.n != 0 || !errors.Is(r.err, os.ErrDeadlineExceeded) {
		l.t.Fatalf("Read = %d, %v, want its deadline", r.n, r.err)
	}
	l.c.SetReadDeadline(time.Time{})
}

// idleMemory returns how much of the limit is taken when no goroutine uses a buffer.
func idleMemory() int64 {
	synctest.Wait()
	return extsock.MemoryTaken()
}

// TestGrantsAreCounted: memory that may have to replace the granted memory of a Read counts toward
// the limit, from the grant until nothing of it is left, however the grant ends.
func TestGrantsAreCounted(t *testing.T) {
	alone(t)
	const n, size = 300_000, 512 << 10
	for _, tt := range []struct {
		desc string
		then func(l *lender)
		kept bool // then leaves the memory taken, until Close
	}{
		{"the Read waits", func(l *lender) {}, true},
		{"done while the Read waits", func(l *lender) {
			l.place(1000)
			l.done(1000)
			if r := <-l.read; r.n != 1000 || r.err != nil {
				l.t.Errorf("Read = %d, %v", r.n, r.err)
			}
		}, false},
		{"cancel while the Read waits", func(l *lender) { l.message(4, 0, 0, 0) }, false},
		{"the Read has left", func(l *lender) { l.place(1000); l.leave() }, true},
		{"cancel after the Read", func(l *lender) { l.leave(); l.message(4, 0, 0, 0) }, false},
		{"done after the Read", func(l *lender) { l.leave(); l.place(1000); l.done(1000) }, true},
		{"done after the Read, and the next Reads", func(l *lender) {
			l.leave()
			l.place(1000)
			l.done(1000)
			b := make([]byte, 600)
			for _, want := range []int{600, 400} {
				if taken := idleMemory(); taken != size {
					l.t.Errorf("%d octets are taken in front of a Read", taken)
				}
				if n, err := l.c.Read(b); n != want || err != nil || !bytes.Equal(b[:n], bytes.Repeat([]byte{'p'}, n)) {
					l.t.Errorf("Read = %d, %v", n, err)
				}
			}
		}, false},
		{"done after CloseRead", func(l *lender) { l.leave(); l.c.CloseRead(); l.place(1000); l.done(1000) }, false},
		{"a done of what is not placed", func(l *lender) { l.leave(); l.done(1); io.Copy(io.Discard, l.p.s); l.p.s.Close(); settle() }, false},
		{"the peer closes", func(l *lender) { l.leave(); l.p.s.Close(); settle() }, true},
		{"the peer is gone", func(l *lender) { l.leave(); l.p.s.(toe.Stream).Abort(); settle() }, false},
		{"the peer is gone while the Read waits", func(l *lender) { l.p.s.(toe.Stream).Abort(); settle() }, false},
		{"the peer is gone after done", func(l *lender) {
			l.leave()
			l.place(1000)
			l.done(1000)
			l.p.s.(toe.Stream).Abort()
			settle()
			if n, err := l.c.Read(make([]byte, 2000)); n != 1000 || err != nil { // the program's by now
				l.t.Errorf("Read = %d, %v", n, err)
			}
		}, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				limitMemory(t, 64<<20)
				l := lend(t, make([]byte, n))
				if l.h.Len != n {
					t.Fatalf("%d octets are granted", l.h.Len)
				}
				if taken := idleMemory(); taken != size {
					t.Errorf("%d octets are taken for the grant, want %d", taken, size)
				}
				tt.then(l)
				if taken := idleMemory(); (taken != 0) != tt.kept || taken != 0 && taken != size {
					t.Errorf("then %d octets are taken", taken)
				}
				l.c.Close()
				l.p.s.Close()
				settle()
				if taken := extsock.MemoryReserved(); taken != 0 {
					t.Errorf("at the end %d octets are taken", taken)
				}
			})
		})
	}
}

// TestGrantsKeepTheLimit: if peers get grants and then send nothing, the process holds no more than
// the limit, however much memory the Reads had. There is room left for others.
func TestGrantsKeepTheLimit(t *testing.T) {
	alone(t)
	const limit = 16 << 20
	bubble(t, func(t *testing.T) {
		limitMemory(t, limit)
		buf := make([]byte, 12<<20) // one buffer, as of a pool, for all connections in turn
		var all []*lender
		granted := 0
		for range 6 {
			l := lend(t, buf)
			granted += int(l.h.Len)
			if l.h.Len > 0 {
				l.leave()
			}
			all = append(all, l)
			synctest.Wait()
			if taken := extsock.MemoryReserved(); taken > limit/4*3 {
				t.Errorf("%d octets of %d are taken", taken, limit)
			}
		}
		if granted > limit/2 || granted < limit/8 {
			t.Errorf("%d octets are granted, with a limit of %d", granted, limit)
		}
		for _, l := range all {
			l.c.Close()
			l.p.s.Close()
		}
		settle()
	})
}

// TestNoGrantWithoutMemory: if there is no memory to replace a grant, nothing is granted. The Write
// comes as data, and the Read gets all of it.
func TestNoGrantWithoutMemory(t *testing.T) {
	alone(t)
	for _, limit := range []int64{0, 2 << 20, 64 << 20} {
		bubble(t, func(t *testing.T) {
			limitMemory(t, limit)
			s := side{cfg: extsock.Config{Crossover: 64 << 10}}
			ci, cr := simPair(t, simtoe.Config{}, s, s)
			want, got := pattern(3<<20, 1), make([]byte, 3<<20)
			read := make(chan error, 1)
			go func() { _, err := io.ReadFull(cr, got); read <- err }()
			synctest.Wait()
			if _, err := ci.Write(want); err != nil {
				t.Error(err)
			}
			if err := <-read; err != nil || !bytes.Equal(got, want) {
				t.Errorf("limit %d: not the octets that were written: %v", limit, err)
			}
			if n := ci.Stats().RendezvousOctets; (n == 0) != (limit == 0) || n < 3<<20 && limit == 64<<20 {
				t.Errorf("limit %d: %d octets by rendezvous", limit, n)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}
