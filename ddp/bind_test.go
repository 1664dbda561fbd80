package ddp

import (
	"bytes"
	"fmt"
	"testing"
)

// bind binds a buffer with guard octets around its head and around the rest.
func (p *pair) bind(qn QN, head, n int) (h, b guarded) {
	p.Helper()
	h, b = newGuarded(head), newGuarded(n)
	if !p.r.Bind(qn, h.mem, b.mem) {
		p.Fatal("Bind = false")
	}
	return h, b
}

func TestBind(t *testing.T) {
	for _, tt := range []struct{ head, room, n, mulpdu int }{
		{0, 64, 64, 1000}, {0, 64, 64, 30}, {0, 64, 63, 30}, {0, 0, 0, 1000}, {0, 64, 0, 1000},
		{12, 52, 64, 1000}, {12, 52, 64, 30}, {12, 52, 40, 1000}, {12, 52, 12, 1000}, {12, 52, 5, 1000},
		{12, 52, 0, 1000}, {64, 0, 64, 30}, {64, 0, 20, 1000},
	} {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			p := newPair(t)
			want := randomBytes(seeded(t), tt.n)
			for round := range 3 {
				head, b := p.bind(QNSend, tt.head, tt.room)
				p.send(send(want), tt.mulpdu)
				m := p.wantMessage("bound")
				if !m.Bound || m.ID != 0 || m.Len != uint32(tt.n) || m.MSN != uint32(round+1) {
					t.Errorf("message %+v", m)
				}
				inHead := min(tt.head, tt.n)
				if !bytes.Equal(head.mem[:inHead], want[:inHead]) || !bytes.Equal(m.Buffer, want[inHead:]) {
					t.Errorf("received %x and %x, want %x", head.mem[:inHead], m.Buffer, want)
				}
				if len(m.Buffer) > 0 && &m.Buffer[0] != &b.mem[0] {
					t.Error("Buffer is not the bound buffer")
				}
				if !head.intact() || !b.intact() || !untouched(head.mem[inHead:]) || !untouched(b.mem[tt.n-inHead:]) {
					t.Error("octets besides the message's have changed")
				}
				p.wantIdle("after the message")
			}
		})
	}
}

// TestRebind: a message goes on in other memory, at each of its segments. What was placed moves
// there, also what was placed before its turn, and the old memory changes no more.
func TestRebind(t *testing.T) {
	for _, head := range []int{0, 12} {
		for _, early := range []bool{false, true} {
			for after := range 4 { // segments, of 4
				p := newPair(t)
				want := randomBytes(seeded(t), 64)
				h, old := p.bind(QNSend, head, 64-head)
				m := send(want)
				segments := cut(&p.s, &m, UntaggedHeaderLen+20)
				if early && !p.r.TryPlace(3*fpduLen(segments[0]), segments[3]) {
					t.Fatal("the last segment is not placed early")
				}
				for _, s := range segments[:after] {
					p.place(s)
				}
				b := newGuarded(64 - head)
				p.r.Rebind(QNSend, b.mem)
				before := bytes.Clone(old.all)
				for i, s := range segments[after:] {
					if early && after+i == 3 {
						p.off += fpduLen(s) // TryPlace has it
						continue
					}
					p.place(s)
				}
				if m := p.wantMessage("rebound"); !bytes.Equal(h.mem, want[:head]) || !bytes.Equal(m.Buffer, want[head:]) || &m.Buffer[0] != &b.mem[0] {
					t.Errorf("head %d, early %t, after %d segments: received %x and %x, want %x", head, early, after, h.mem, m.Buffer, want)
				}
				if !bytes.Equal(old.all, before) || !b.intact() {
					t.Errorf("head %d, early %t, after %d segments: octets of the old memory, or beside the new one, have changed", head, early, after)
				}
			}
		}
	}
}

// Messages that were bound one after the other wait for their delivery, each with its own buffer.
func TestBindBeforeDelivery(t *testing.T) {
	p := newPair(t)
	var want [][]byte
	for i := range 5 {
		want = append(want, bytes.Repeat([]byte{byte(i + 1)}, 10*i+3))
		p.bind(QNSend, 3, 60)
		p.send(send(want[i]), 25)
	}
	for i, w := range want {
		if m := p.wantMessage("waiting"); !m.Bound || !bytes.Equal(m.Buffer, w[3:]) {
			t.Errorf("message %d: %+v, want %x", i, m, w[3:])
		}
	}
	p.wantIdle("in the end")
}

// A buffer is for one message of one queue. The next one finds none.
func TestBindIsForOneMessage(t *testing.T) {
	for _, first := range []Message{send(nil), send(make([]byte, 5)), {RsvdULP: 0x48, Payload: [][]byte{make([]byte, 8)}, Len: 8}} {
		p := newPairWith(t, func(c *ReceiverConfig) { c.InMessage = func(v uint8, _ QN) bool { return v == 0x48 } })
		p.bind(QNSend, 0, 5)
		p.bind(QNReadRequest, 0, 5)
		p.send(Message{QN: QNReadRequest, Payload: [][]byte{[]byte("other")}, Len: 5}, 100)
		if m := p.wantMessage("of another queue"); !m.Bound || string(m.Buffer) != "other" {
			t.Errorf("message %+v", m)
		}
		p.send(first, 100)
		if m := p.wantMessage("bound"); !m.Bound {
			t.Errorf("message %+v is not bound", m)
		}
		m := send([]byte("more"))
		ulpdu := cut(&p.s, &m, 100)[0]
		p.place(ulpdu)
		p.wantFailure(ulpdu, CodeNoBuffer)
	}
}

func TestBindTooLong(t *testing.T) {
	for _, mulpdu := range []int{100, 18 + 7} {
		p := newPair(t)
		head, b := p.bind(QNSend, 6, 7)
		m := send(bytes.Repeat([]byte{1}, 14))
		ulpdus := cut(&p.s, &m, mulpdu)
		for _, u := range ulpdus {
			p.place(u)
		}
		p.wantFailure(ulpdus[len(ulpdus)-1], CodeTooLong)
		if !head.intact() || !b.intact() {
			t.Error("octets outside the buffer have changed")
		}
	}
}

func TestBindReplaces(t *testing.T) {
	p := newPair(t)
	_, first := p.bind(QNSend, 0, 64)
	p.bind(QNSend, 0, 64)
	p.send(send([]byte("hello")), 100)
	if m := p.wantMessage("bound"); string(m.Buffer) != "hello" || !untouched(first.all) {
		t.Errorf("received %q; first buffer %q", m.Buffer, first.mem)
	}
}

// A message that has begun keeps its buffer, and Bind does not take another one for it.
func TestBindTooLate(t *testing.T) {
	m := send([]byte("a message of several segments"))
	var s Sender
	ulpdus := cut(&s, &m, 18+10)
	for _, posted := range []bool{false, true} {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("posted=%t early=%t", posted, early), func(t *testing.T) {
				p := newPair(t)
				if posted {
					p.post(QNSend, 64, 1)
				} else {
					p.bind(QNSend, 0, 64)
				}
				if early {
					if !p.r.TryPlace(p.off+fpduLen(ulpdus[0]), ulpdus[1]) {
						t.Fatal("not placed early")
					}
				} else {
					p.place(ulpdus[0])
				}
				late := newGuarded(64)
				if p.r.Bind(QNSend, nil, late.mem) {
					t.Error("Bind = true in the middle of a message")
				}
				if early {
					p.place(ulpdus[0])
				}
				p.off += fpduLen(ulpdus[1])
				if !early {
					p.off -= fpduLen(ulpdus[1])
					p.place(ulpdus[1])
				}
				p.place(ulpdus[2])
				if got := p.wantMessage("whole"); string(got.Buffer) != string(m.Payload[0]) || got.Bound == posted || !untouched(late.all) {
					t.Errorf("message %+v with %q; late buffer %q", got, got.Buffer, late.mem)
				}
				if !p.r.Bind(QNSend, nil, late.mem) {
					t.Error("Bind = false for the next message")
				}
			})
		}
	}
}

func TestBindAfterFailure(t *testing.T) {
	p := newPair(t)
	m := send([]byte("no buffer"))
	p.place(cut(&p.s, &m, 100)[0])
	late := newGuarded(64)
	if p.r.Bind(QNSend, nil, late.mem) {
		t.Error("Bind = true after a failure")
	}
	m = send([]byte("too late"))
	p.place(cut(&p.s, &m, 100)[0])
	if p.r.Deliver(p.off) || !untouched(late.all) {
		t.Error("something arrives after a failure")
	}
}

// Segments are placed early in the bound buffer, but not in that of a later message.
func TestBindEarly(t *testing.T) {
	p := newPair(t)
	want := randomBytes(seeded(t), 64)
	m, next := send(want), send([]byte("next"))
	ulpdus := cut(&p.s, &m, 18+20)
	offs := []uint64{0}
	for _, u := range ulpdus {
		offs = append(offs, offs[len(offs)-1]+fpduLen(u))
	}
	head, b := p.bind(QNSend, 25, 39)
	if p.r.TryPlace(offs[len(ulpdus)], cut(&p.s, &next, 100)[0]) {
		t.Error("a segment of the next message is placed")
	}
	for i := len(ulpdus) - 1; i > 0; i-- {
		if !p.r.TryPlace(offs[i], ulpdus[i]) {
			t.Errorf("segment %d is not placed", i)
		}
	}
	if !bytes.Equal(head.mem[20:], want[20:25]) || !bytes.Equal(b.mem, want[25:]) || !untouched(head.mem[:20]) {
		t.Errorf("placed %x and %x, want %x", head.mem, b.mem, want)
	}
	p.wantIdle("early")
	p.place(ulpdus[0])
	p.off = offs[len(ulpdus)]
	if got := p.wantMessage("in order"); !got.Bound || !bytes.Equal(head.mem, want[:25]) || !bytes.Equal(got.Buffer, want[25:]) {
		t.Errorf("message %+v: %x and %x, want %x", got, head.mem, got.Buffer, want)
	}
	if !head.intact() || !b.intact() {
		t.Error("octets outside the buffer have changed")
	}

	// Beyond the buffer nothing is placed early; the segment fails in its turn.
	_, short := p.bind(QNSend, 0, 30)
	long := send(want)
	ulpdus = cut(&p.s, &long, 18+20)
	if p.r.TryPlace(p.off+fpduLen(ulpdus[0]), ulpdus[1]) || !untouched(short.all) {
		t.Error("a segment is placed beyond the buffer")
	}
}

// Immediate Data uses a bound buffer up without touching it, and needs no room in it.
func TestBindInMessage(t *testing.T) {
	for _, n := range []int{0, 64} {
		p := newPairWith(t, func(c *ReceiverConfig) { c.InMessage = func(v uint8, _ QN) bool { return v == 0x48 } })
		_, b := p.bind(QNSend, 0, n)
		p.send(Message{RsvdULP: 0x48, Payload: [][]byte{[]byte("8 octets")}, Len: 8}, 100)
		if m := p.wantMessage("in the message"); !m.Bound || string(m.Buffer) != "8 octets" || !untouched(b.all) {
			t.Errorf("message %+v with %q; buffer %x", m, m.Buffer, b.mem)
		}
	}
}

// Posted buffers go to the messages without a bound buffer, and Flush returns only posted buffers.
func TestBindAndQueue(t *testing.T) {
	p := newPair(t)
	p.post(QNSend, 64, 7)
	p.send(send([]byte("posted")), 100)
	p.bind(QNSend, 0, 64)
	p.send(send([]byte("bound")), 100)
	p.post(QNSend, 64, 8)
	p.send(send([]byte("posted again")), 100)
	p.bind(QNSend, 0, 64)
	for _, want := range []struct {
		text  string
		id    uint64
		bound bool
	}{{"posted", 7, false}, {"bound", 0, true}, {"posted again", 8, false}} {
		if m := p.wantMessage(want.text); string(m.Buffer) != want.text || m.ID != want.id || m.Bound != want.bound {
			t.Errorf("message %+v with %q, want %+v", m, m.Buffer, want)
		}
	}
	p.post(QNSend, 64, 9)
	if ids := p.queues[QNSend].Flush(); fmt.Sprint(ids) != "[9]" {
		t.Errorf("Flush = %v, want [9]", ids)
	}
	p.send(send([]byte("after the Flush")), 100)
	if m := p.wantMessage("bound before the Flush"); string(m.Buffer) != "after the Flush" || !m.Bound {
		t.Errorf("message %+v with %q", m, m.Buffer)
	}
}

// A Receiver that has delivered a message keeps no reference to its buffer.
func TestBindIsForgotten(t *testing.T) {
	p := newPair(t)
	for range 3 {
		p.bind(QNSend, 4, 60)
		p.send(send(make([]byte, 30)), 100)
	}
	for range 3 {
		p.wantMessage("bound")
	}
	p.wantIdle("in the end")
	for i, d := range p.r.ready.list[:cap(p.r.ready.list)] {
		if d.message.Buffer != nil {
			t.Errorf("delivery %d refers to a buffer", i)
		}
	}
	if b := p.r.untagged[QNSend].bound; b.head != nil || b.b != nil || p.r.ready.delivered != nil || p.r.untagged[QNSend].Buffer != nil {
		t.Error("the Receiver refers to a buffer")
	}
}

// Messages of random lengths in random segments, some early, go to bound and posted buffers in any
// order.
func TestBindRandom(t *testing.T) {
	r := seeded(t)
	p := newPair(t)
	for i := range 2000 {
		want := randomBytes(r, r.IntN(100))
		head := r.IntN(len(want) + 1)
		bound := r.IntN(3) > 0
		h, b := newGuarded(head), newGuarded(len(want)-head+r.IntN(10))
		if bound && !p.r.Bind(QNSend, h.mem, b.mem) {
			t.Fatal("Bind = false")
		}
		if !bound {
			if err := post(p.queues[QNSend], h.mem, b.mem, uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		m := send(want)
		ulpdus := cut(&p.s, &m, 18+1+r.IntN(50))
		off := p.off
		for _, u := range ulpdus {
			if off > p.off && r.IntN(2) == 0 {
				p.r.TryPlace(off, u)
			}
			off += fpduLen(u)
		}
		off = p.off
		for _, u := range ulpdus {
			if !isPlacedEarly(p.r, off) {
				p.off = off
				p.place(u)
			}
			off += fpduLen(u)
		}
		p.off = off
		got := p.wantMessage("random")
		if got.Bound != bound || bound != (got.ID == 0) && i > 0 {
			t.Fatalf("message %d: %+v, want bound %t", i, got, bound)
		}
		if !bytes.Equal(h.mem, want[:head]) || !bytes.Equal(got.Buffer, want[head:]) || !h.intact() || !b.intact() {
			t.Fatalf("message %d: %x and %x, want %x", i, h.mem, got.Buffer, want)
		}
	}
}

// isPlacedEarly reports whether the segment at off was placed before its turn.
func isPlacedEarly(r *Receiver, off uint64) bool {
	for i := range r.early {
		if r.early[i].off == off {
			return true
		}
	}
	return false
}

func TestAllocsBind(t *testing.T) {
	p := newPair(t)
	head, buffer := make([]byte, 12), make([]byte, 5000)
	u := UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1}
	ulpdu := append(u.AppendTo(nil), make([]byte, 1400)...)
	wantNoAllocs(t, "Bind, Place and Deliver", func() {
		if !p.r.Bind(QNSend, head, buffer) {
			t.Error("Bind = false")
		}
		u.AppendTo(ulpdu[:0])
		u.MSN++
		p.place(ulpdu)
		p.wantMessage("each")
	})
}
