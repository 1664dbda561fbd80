package ddp

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// A buffer in two pieces takes a message as one piece of the same length would, however it is cut,
// and one octet more is too many.
// DDP-5041-5.2-5
func TestPostInTwoPieces(t *testing.T) {
	const head, body = 4, 9
	payload := []byte("0123456789abc")
	for size := 1; size <= head+body; size++ {
		for n := 0; n <= head+body; n++ {
			q := NewQueue(1, 0)
			h, b := make([]byte, head), make([]byte, body)
			if err := post(q, h, b, 7); err != nil {
				t.Fatal(err)
			}
			r := NewReceiver(ReceiverConfig{Queues: [NumQueues]*Queue{QNSend: q}})
			off := uint64(0)
			for at := 0; ; at += size {
				end := min(at+size, n)
				u := UntaggedHeader{Last: end == n, QN: QNSend, MSN: 1, MO: uint32(at)}.AppendTo(nil)
				r.Place(off, append(u, payload[at:end]...))
				off++
				if end == n {
					break
				}
			}
			if !r.Deliver(off) {
				t.Fatalf("%d octets in segments of %d: %v", n, size, r.Err())
			}
			m := r.Message()
			if int(m.Len) != n || m.ID != 7 || len(m.Buffer) != max(n-head, 0) {
				t.Errorf("%d octets in segments of %d: message %+v", n, size, m)
			}
			if got := append(h, b...); !bytes.Equal(got[:n], payload[:n]) || bytes.Trim(got[n:], "\x00") != nil {
				t.Errorf("%d octets in segments of %d: placed %q", n, size, got)
			}
		}
	}
	q := NewQueue(1, 0)
	if err := post(q, make([]byte, head), make([]byte, body), 0); err != nil {
		t.Fatal(err)
	}
	r := NewReceiver(ReceiverConfig{Queues: [NumQueues]*Queue{QNSend: q}})
	r.Place(0, append(UntaggedHeader{Last: true, QN: QNSend, MSN: 1}.AppendTo(nil), make([]byte, head+body+1)...))
	if r.Deliver(1) || r.Err() == nil {
		t.Errorf("a message longer than the buffer: %v", r.Err())
	}
}

// Redirect gives the memory back to its owner: bytes that have arrived are copied to the new
// memory, and later bytes go there.
func TestRedirect(t *testing.T) {
	d := new(Domain)
	old, other := []byte("abcdefgh"), make([]byte, 8)
	r, err := d.Register(old, RemoteWrite, 1)
	if err != nil {
		t.Fatal(err)
	}
	rx := NewReceiver(ReceiverConfig{Stream: NewStream(d, 1)})
	write := func(off uint64, p string) {
		rx.Place(off, append(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO() + off}.AppendTo(nil), p...))
		if !rx.Deliver(off + 1) {
			t.Fatal(rx.Err())
		}
	}
	write(0, "12")
	Redirect(r, other)
	write(4, "56")
	if string(old) != "12cdefgh" || string(other) != "12cd56gh" {
		t.Errorf("the old memory has %q, the new %q", old, other)
	}
}

// Bytes that arrive through a window go to the present memory of the Region, not to the memory that
// it had when the window was made.
func TestRedirectTakesWindowsAlong(t *testing.T) {
	p := newPair(t)
	old, other := []byte("abcdefgh"), make([]byte, 8)
	r := p.register(old, RemoteWrite)
	outer := window(t, r, 2, 6, RemoteWrite)
	inner := window(t, outer, 1, 4, RemoteWrite)
	write := func(to *Region, payload string) {
		p.send(Message{Tagged: true, STag: to.STag(), TO: to.TO(), Len: uint32(len(payload)), Payload: [][]byte{[]byte(payload)}}, 100)
		p.wantMessage("a Write")
	}
	write(outer, "1")
	write(inner, "2")
	Redirect(r, other)
	write(r, "3")
	write(outer, "4")
	write(inner, "5")
	write(window(t, outer, 5, 1, RemoteWrite), "6")
	if string(old) != "ab12efgh" || string(other) != "3b45efg6" {
		t.Errorf("the old memory has %q, want %q; the new %q, want %q", old, "ab12efgh", other, "3b45efg6")
	}
	if got := string(inner.Bytes()); got != "5efg" {
		t.Errorf("the window's window is %q", got)
	}
}

// Redirect waits for a placement through a window that is in progress, and nothing of it is lost.
//
// +checklocksignore: hold locks w
func TestRedirectWaitsForWindows(t *testing.T) {
	d := new(Domain)
	r := register(t, d, make([]byte, 16), RemoteWrite, stream)
	w := window(t, window(t, r, 4, 12, RemoteWrite), 4, 4, RemoteWrite)
	_, mem, err := NewStream(d, stream).hold(w.STag(), w.TO(), 4, RemoteWrite) // a placement, between its check and its end
	if err != nil {
		t.Fatal(err)
	}
	other := make([]byte, 16)
	var returned atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { Redirect(r, other); returned.Store(true) })
	for !returned.Load() && w.mu.TryRLock() { // once Redirect waits for the lock nobody else gets it
		w.mu.RUnlock()
		runtime.Gosched()
	}
	if returned.Load() {
		t.Error("Redirect returned while octets were placed")
	}
	copy(mem, "late")
	w.mu.RUnlock()
	wg.Wait()
	if got := string(other[8:12]); got != "late" {
		t.Errorf("the new memory has %q", got)
	}
}
