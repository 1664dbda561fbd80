package ddp

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

func TestSenderGather(t *testing.T) {
	data := randomBytes(seeded(t), 300)
	tests := []struct {
		desc   string
		pieces [][]byte
		len    int
	}{
		{"one piece", [][]byte{data}, 300},
		{"pieces that end where segments end", [][]byte{data[:82], data[82:164], data[164:]}, 300},
		{"empty pieces", [][]byte{nil, data[:1], {}, nil, data[1:], nil}, 300},
		{"many small pieces", [][]byte{data[:1], data[1:3], data[3:6], data[6:10], data[10:15], data[15:]}, 300},
		{"more than the message has", [][]byte{data[:200], data[200:]}, 150},
		{"no payload, no pieces", nil, 0},
		{"no payload of some", [][]byte{data}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			var s Sender
			var got []byte
			for _, ulpdu := range cut(&s, &Message{Payload: tt.pieces, Len: uint32(tt.len)}, 100) {
				h, payload, err := ParseUntagged(ulpdu)
				if err != nil || h.MO != uint32(len(got)) {
					t.Errorf("segment %+v, %v, want MO %d", h, err, len(got))
				}
				if want := min(82, tt.len-len(got)); len(payload) != want {
					t.Errorf("payload of %d octets at MO %d, want %d", len(payload), h.MO, want)
				}
				got = append(got, payload...)
			}
			if !bytes.Equal(got, data[:tt.len]) {
				t.Errorf("payload = %x, want %x", got, data[:tt.len])
			}
		})
	}
}

func TestSenderRefersToPayload(t *testing.T) {
	data := make([]byte, 200)
	var s Sender
	s.Start(&Message{Payload: [][]byte{data}, Len: 200})
	s.Next(118)
	s.Next(118)
	if seg := s.Segment(); &seg.Payload[0][0] != &data[100] || seg.Snapshot {
		t.Error("Payload is not the caller's memory")
	}
	if s.Next(118); s.Segment().Payload != nil || s.payload[:1][0] != nil {
		t.Error("the payload is still referred to after the message's end")
	}
	if s.Next(118) {
		t.Error("Next = true again after the message's end")
	}
}

// TestSenderReleasesPayload: a Sender that has nothing to send keeps no memory of the last message.
func TestSenderReleasesPayload(t *testing.T) {
	var s Sender
	s.Start(&Message{Payload: [][]byte{make([]byte, 200)}, Len: 200})
	if !s.Next(1000) || !s.Segment().Last {
		t.Fatal("not one segment")
	}
	s.Release()
	if s.m != nil || s.Segment().Payload != nil || s.payload[:1][0] != nil {
		t.Error("the payload is still referred to after Release")
	}
}

// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSenderSource(t *testing.T) {
	domain := new(Domain)
	mem := randomBytes(seeded(t), 250)
	r := register(t, domain, mem, RemoteRead, stream)
	m := Message{Tagged: true, STag: 9, TO: 1000, Source: r, SourceTO: r.TO() + 10, Len: 200}

	var s Sender
	var got []byte
	for s.Start(&m); s.Next(114); s.Release() {
		if seg := s.Segment(); !seg.Snapshot {
			t.Error("Snapshot = false for a source that can change")
		}
		if r.mu.TryLock() {
			t.Error("the Region is not held while its segment is out")
			r.mu.Unlock()
		}
		h, payload, err := ParseTagged(wire(&s))
		if err != nil || h.TO != 1000+uint64(len(got)) || h.STag != 9 {
			t.Errorf("segment %+v, %v, want TO %d", h, err, 1000+len(got))
		}
		got = append(got, payload...)
	}
	if s.Err() != nil || !bytes.Equal(got, mem[10:210]) {
		t.Errorf("payload = %x, %v, want %x", got, s.Err(), mem[10:210])
	}
	r.Deregister() // would wait forever if the Sender still held it

	if s.Start(&m); s.Next(114) {
		t.Error("Next = true with a source that is gone")
	}
	m.Len = 0
	if got := cut(&s, &m, 114); len(got) != 1 || s.Err() != nil {
		t.Errorf("message without payload of a Region that is gone: %d segments, %v, want 1", len(got), s.Err())
	}
}

func TestSenderSourceGoesAway(t *testing.T) {
	domain := new(Domain)
	tests := []struct {
		desc string
		off  uint64
		gone bool
		kind accessCheck
		sent uint64
	}{
		{"deregistered after two segments", 0, true, checkInvalidSTag, 200},
		{"too short", 50, false, checkBounds, 200},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			r := register(t, domain, make([]byte, 300), RemoteRead, stream)
			var s Sender
			s.Start(&Message{Tagged: true, Source: r, SourceTO: r.TO() + tt.off, Len: 300})
			for n := 0; s.Next(114); n++ {
				if s.Segment().Last {
					t.Error("last segment sent")
				}
				s.Release()
				if n == 1 && tt.gone {
					r.Deregister()
				}
			}
			var e *AccessError
			if !errors.As(s.Err(), &e) || checkOf(e) != tt.kind || e.TO != r.TO()+tt.off+tt.sent || e.STag != r.STag() {
				t.Errorf("Err = %v, want %v at octet %d", s.Err(), tt.kind, tt.sent)
			}
			if s.Next(114) {
				t.Error("Next = true after an error")
			}
			if got := cut(&s, &Message{QN: QNTerminate}, 114); len(got) != 1 || s.Err() != nil {
				t.Errorf("the next message: %d segments, %v, want 1", len(got), s.Err())
			}
		})
	}
}

func TestSenderStartGivesUpMessage(t *testing.T) {
	r := register(t, new(Domain), make([]byte, 300), RemoteRead, stream)
	var s Sender
	s.Start(&Message{Tagged: true, Source: r, SourceTO: r.TO(), Len: 300})
	s.Next(114)
	if got := cut(&s, &Message{QN: QNTerminate, RsvdULP: 0x47}, 114); len(got) != 1 || got[0][1] != 0x47 {
		t.Errorf("segments = %x, want one of the second message", got)
	}
	r.Deregister() // would wait forever if the Region were still held
}

func TestSenderBugs(t *testing.T) {
	tests := []struct {
		desc   string
		m      Message
		mulpdu int
	}{
		{"payload shorter than Len", Message{Payload: [][]byte{{1, 2}}, Len: 3}, 128},
		{"QN 4", Message{QN: 4}, 128},
		{"untagged, no room for an octet", Message{}, 18},
		{"tagged, no room for an octet", Message{Tagged: true}, 14},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "BUG: ") {
					t.Errorf("panic = %q, want BUG: …", s)
				}
			}()
			var s Sender
			s.Start(&tt.m)
			s.Next(tt.mulpdu)
		})
	}
}

// "The ULP Message Length MUST be less than 2^32." A message of 2^32-1 octets, as a gather list
// that names the same memory again and again. DDP-5041-5.2-3 DDP-5041-1.2-1
func TestRFC5041_5_2_LongestMessage(t *testing.T) {
	chunk := make([]byte, 1<<20)
	var pieces [][]byte
	for range 4096 {
		pieces = append(pieces, chunk)
	}
	var s Sender
	s.Start(&Message{Payload: pieces, Len: maxMessageLen})
	var end, n uint64
	for s.Next(64768) {
		h, _, err := ParseUntagged(s.Segment().Header)
		if err != nil || uint64(h.MO) != end {
			t.Fatalf("segment %d: MO %d, %v, want %d", n, h.MO, err, end)
		}
		for _, p := range s.Segment().Payload {
			end += uint64(len(p))
		}
		if h.Last != (end == math.MaxUint32) {
			t.Fatalf("segment %d ends at %d: Last = %t", n, end, h.Last)
		}
		n++
	}
	if end != math.MaxUint32 || n != (math.MaxUint32+64749)/64750 {
		t.Errorf("%d octets in %d segments", end, n)
	}
}

// TestSenderKeepsRegion: a Region that is kept is held over all Segments of the Message, the next
// Segment is judged as if it were not held, and Release lets go of it.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSenderKeepsRegion(t *testing.T) {
	domain := new(Domain)
	mem := randomBytes(seeded(t), 250)
	r := register(t, domain, mem, RemoteRead, stream)
	m := Message{Tagged: true, STag: 9, TO: 1000, Source: r, SourceTO: r.TO(), Len: 250}
	var s Sender
	s.Start(&m)
	for n := range 3 {
		if !s.Next(114) || !s.Keep() {
			t.Fatalf("segment %d: %v", n, s.Err())
		}
		if p := s.Segment().Payload; len(p) != 1 || &p[0][0] != &mem[100*n] {
			t.Errorf("the payload of segment %d is not the Region's memory", n)
		}
		if r.mu.TryLock() {
			t.Fatal("the Region is not held")
		}
	}
	if s.Next(114) || s.Err() != nil || r.mu.TryLock() {
		t.Errorf("the end of the Message has released what is kept: %v", s.Err())
	}
	s.Release()
	s.Start(&m)
	s.Next(114)
	s.Keep()
	gone := make(chan struct{})
	go func() { r.Deregister(); close(gone) }()
	for !r.gone.Load() {
		runtime.Gosched()
	}
	if s.Next(114) || s.Err() == nil {
		t.Error("a segment of a Region whose Deregister waits")
	}
	select {
	case <-gone:
		t.Error("Deregister has not waited for what is kept")
	default:
	}
	s.Release()
	<-gone
}

// TestSenderKeepsNoCopy: the payload of far memory is in memory of the Sender, which the next
// Segment gets, and a Message without a Region has nothing to keep.
func TestSenderKeepsNoCopy(t *testing.T) {
	r, _ := registerFar(t, new(Domain), 400, RemoteRead)
	var s Sender
	for _, m := range []*Message{
		{Tagged: true, Len: 200, Source: r, SourceTO: farBase},
		{Payload: [][]byte{make([]byte, 200)}, Len: 200},
	} {
		if s.Start(m); !s.Next(114) || s.Keep() {
			t.Error("Keep = true")
		}
		s.Next(114)
		s.Release()
	}
	r.Deregister() // waits forever if the Sender still holds the Region
}
