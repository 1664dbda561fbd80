package ddp

import (
	"bytes"
	"testing"
)

// A buffer in two pieces takes a message as one piece of the same length would, however it is cut, and one
// octet more is too many.
// DDP-5041-5.2-5
func TestPostScatter(t *testing.T) {
	const head, body = 4, 9
	payload := []byte("0123456789abc")
	for size := 1; size <= head+body; size++ {
		for n := 0; n <= head+body; n++ {
			q := NewQueue(1)
			h, b := make([]byte, head), make([]byte, body)
			if err := q.PostScatter(h, b, 7); err != nil {
				t.Fatal(err)
			}
			r := NewReceiver(ReceiverConfig{Queues: [numQueues]*Queue{QNSend: q}})
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
	q := NewQueue(1)
	if err := q.PostScatter(make([]byte, head), make([]byte, body), 0); err != nil {
		t.Fatal(err)
	}
	r := NewReceiver(ReceiverConfig{Queues: [numQueues]*Queue{QNSend: q}})
	r.Place(0, append(UntaggedHeader{Last: true, QN: QNSend, MSN: 1}.AppendTo(nil), make([]byte, head+body+1)...))
	if r.Deliver(1) || r.Err() == nil {
		t.Errorf("a message longer than the buffer: %v", r.Err())
	}
}

// Redirect gives the memory back to its owner: what came is kept in the new place, what comes goes there.
func TestRedirect(t *testing.T) {
	d := NewDomain(nil)
	old, other := []byte("abcdefgh"), make([]byte, 8)
	r, err := d.Register(old, RemoteWrite, 1)
	if err != nil {
		t.Fatal(err)
	}
	rx := NewReceiver(ReceiverConfig{Domain: d, Stream: 1})
	write := func(off uint64, p string) {
		rx.Place(off, append(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO() + off}.AppendTo(nil), p...))
		if !rx.Deliver(off + 1) {
			t.Fatal(rx.Err())
		}
	}
	write(0, "12")
	r.Redirect(other)
	write(4, "56")
	if string(old) != "12cdefgh" || string(other) != "12cd56gh" {
		t.Errorf("the old memory has %q, the new %q", old, other)
	}
}
