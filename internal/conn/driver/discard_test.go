package driver

import (
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// arrives delivers a message of data, in one segment or in two.
//
// +checklocksignore: framed never changes
func (in *lockedDelivery) arrives(t *testing.T, data string, segments int) {
	t.Helper()
	var payload []byte
	if in.delivery.unread.Stream {
		payload = bytestream.Header{}.AppendTo(nil)
	}
	payload = append(payload, data...)
	_, body, answer := in.bind(payload, segments == 1)
	if answer != bound {
		t.Fatalf("no buffer for %q", data)
	}
	copy(body, data)
	if in.delivery.unread.Stream {
		in.accept(len(data), bytestream.DataBuffer)
	} else {
		in.acceptMessage(len(data), rdmap.Completion{Len: uint32(len(data))})
	}
}

// TestNothingAfterDiscard: while a Read waits, another goroutine calls Close or CloseRead. Data
// that arrives after that is discarded, so the Read must get none of it, or the data that it
// returns would have a gap. The Read keeps what it got before.
func TestNothingAfterDiscard(t *testing.T) {
	for _, framed := range []bool{true, false} {
		for _, ending := range []struct {
			desc string
			call func(in *lockedDelivery)
		}{{"Close", func(in *lockedDelivery) { in.close() }}, {"CloseRead", (*lockedDelivery).closeRead}} {
			for _, tt := range []struct {
				desc          string
				before, after func(t *testing.T, in *lockedDelivery)
				want          string
				lost          bool // the peer's data is discarded, and Close must report that
			}{
				{desc: "nothing arrives"},
				{desc: "one message after it", after: func(t *testing.T, in *lockedDelivery) { in.arrives(t, "late", 1) }, lost: true},
				{desc: "two messages after it", after: func(t *testing.T, in *lockedDelivery) {
					in.arrives(t, "lost", 2)
					in.arrives(t, "behind the gap", 1)
				}, lost: true},
				{
					desc:   "one message before, one after it",
					before: func(t *testing.T, in *lockedDelivery) { in.arrives(t, "early", 1) },
					after:  func(t *testing.T, in *lockedDelivery) { in.arrives(t, "late", 1) },
					want:   "early", lost: true,
				},
			} {
				t.Run(ending.desc+", "+tt.desc, func(t *testing.T) {
					in := newDelivery(8, 512)
					if framed {
						in.setWindow(newWindow(6))
					}
					p := make([]byte, 100)
					if found, _ := in.begin(p, nil); found != waits {
						t.Fatalf("a Read of an empty inbox has found %d", found)
					}
					if tt.before != nil {
						tt.before(t, in)
					}
					ending.call(in)
					if tt.after != nil {
						tt.after(t, in)
					}
					if r := in.leave(); string(p[:r.n]) != tt.want || r.ok != (tt.want != "") {
						t.Errorf("framed %t: the Read gets %q, %t, want %q", framed, p[:r.n], r.ok, tt.want)
					}
					if lost := in.close(); lost != tt.lost {
						t.Errorf("framed %t: data is lost: %t, want %t", framed, lost, tt.lost)
					}
				})
			}
		}
	}
}

// TestNothingLentAfterDiscard checks the same for a long Write that the peer has offered before
// CloseRead, or offers after it.
func TestNothingLentAfterDiscard(t *testing.T) {
	domain := new(ddp.Domain)
	register := func(p []byte) (*ddp.Region, error) { return domain.Register(p, ddp.RemoteWrite, 1) }
	for _, offeredBefore := range []bool{true, false} {
		in := newDelivery(8, 512)
		in.setWindow(newWindow(6))
		p := make([]byte, 2*bytestream.MinGrant)
		if found, _ := in.begin(p, nil); found != waits {
			t.Fatalf("a Read of an empty inbox has found %d", found)
		}
		if !offeredBefore {
			in.closeRead()
		}
		h, err := in.makeGrant(len(p), register)
		if err != nil || (h.Len > 0) != offeredBefore {
			t.Fatalf("offered before CloseRead: %t: the peer gets %d bytes, %v", offeredBefore, h.Len, err)
		}
		if !offeredBefore {
			continue
		}
		in.closeRead()
		in.useGrant(len(p))
		if r := in.leave(); r.n != 0 || r.ok {
			t.Errorf("the Read gets %d bytes that came after CloseRead", r.n)
		}
		if !in.close() {
			t.Error("the peer's data is discarded, and Close does not report it")
		}
	}
}

// TestNoAnswerToClose: the peer answers the end of the stream, which Close has sent, before Close
// sends the FIN. A Read that waits, and whose goroutine has not run since Close was called, does
// not get that answer.
func TestNoAnswerToClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		p := make([]byte, 100)
		if found, _ := a.in.begin(p, nil); found != waits { // what Read does before it waits
			t.Fatalf("a Read of an empty inbox has found %d", found)
		}
		// The first half of Driver.Close.
		a.in.close()
		a.CloseWrite(net.ErrClosed)
		var never wait.Deadline
		if n, err := b.Read(make([]byte, 1), &never); n != 0 || err != io.EOF {
			t.Errorf("the peer's Read = %d, %v, want io.EOF", n, err)
		}
		if _, err := b.Write([]byte("late"), nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if r := a.in.leave(); r.n != 0 || r.ok {
			t.Errorf("the Read gets %q, which came after Close", p[:r.n])
		}
		end(a)
		end(b)
	})
}
