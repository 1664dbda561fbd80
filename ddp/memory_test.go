package ddp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"testing"
)

// A farMemory is far memory in the same process. Accesses that reach the byte bad fail.
type farMemory struct {
	mu  sync.Mutex
	b   []byte
	bad int // no byte is bad if it is negative
}

var errBadByte = errors.New("bad byte")

func (m *farMemory) reach(off int64, n int) error {
	if m.bad >= 0 && off <= int64(m.bad) && int64(m.bad) < off+int64(n) {
		return errBadByte
	}
	return nil
}

func (m *farMemory) ReadAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copy(p, m.b[off:off+int64(len(p))]), m.reach(off, len(p))
}

func (m *farMemory) WriteAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.reach(off, len(p)); err != nil {
		return 0, err
	}
	return copy(m.b[off:off+int64(len(p))], p), nil
}

const farBase = 0x7f00_0000_1000

// registerFar registers n guard bytes of far memory at farBase.
func registerFar(t *testing.T, d *Domain, n int, access Access) (*Region, *farMemory) {
	t.Helper()
	m := &farMemory{b: bytes.Repeat([]byte{guard}, n), bad: -1}
	r, err := d.RegisterMemory(m, 0, farBase, uint64(n), access, stream)
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

func TestRegisterMemoryRange(t *testing.T) {
	tests := []struct {
		desc  string
		to, n uint64
		ok    bool
	}{
		{"a byte at 0", 0, 1, true},
		{"more than 4 GiB", 1 << 20, 1 << 33, math.MaxInt > 1<<33},
		{"up to the last TO", math.MaxInt64 - 4096, 4096, true},
		{"no byte", 4096, 0, false},
		{"beyond the last TO", math.MaxInt64 - 4096, 4097, false},
		{"a sum that wraps", math.MaxUint64, 2, false},
		{"a length that wraps", 2, math.MaxUint64, false},
	}
	for _, tt := range tests {
		r, err := new(Domain).RegisterMemory(new(farMemory), 0, tt.to, tt.n, RemoteRead, stream)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.desc, err)
		}
		if err == nil && (r.TO() != tt.to || uint64(r.Len()) != tt.n || r.STag() == 0) {
			t.Errorf("%s: TO 0x%x, %d bytes, STag %v", tt.desc, r.TO(), r.Len(), r.STag())
		}
	}
}

// A Write to far memory arrives there segment by segment, and the same checks hold as for any
// Region.
func TestMemoryWrite(t *testing.T) {
	payload := bytes.Repeat([]byte("0123456789"), 30)
	p := newPair(t)
	r, m := registerFar(t, p.domain, 400, RemoteWrite)
	p.send(write(r, 50, payload), 100)
	p.wantMessage("the write")
	if !bytes.Equal(m.b[50:350], payload) || !untouched(m.b[:50]) || !untouched(m.b[350:]) {
		t.Errorf("the memory is %q", m.b)
	}
	for _, tt := range []struct {
		desc  string
		m     Message
		right Access
	}{
		{"a byte beyond the end", write(r, 101, payload), RemoteWrite},
		{"no right", write(r, 0, payload), RemoteRead},
	} {
		p := newPair(t)
		q, m := registerFar(t, p.domain, 400, tt.right)
		tt.m.STag = q.STag()
		for _, ulpdu := range cut(&p.s, &tt.m, 1000) {
			p.place(ulpdu)
		}
		p.r.Deliver(math.MaxUint64)
		if p.r.Err() == nil || !untouched(m.b) {
			t.Errorf("%s: %v", tt.desc, p.r.Err())
		}
	}
}

// Far memory that refuses a segment ends the stream, as an access that the Region does not allow.
func TestMemoryRefusesWrite(t *testing.T) {
	p := newPair(t)
	r, m := registerFar(t, p.domain, 400, RemoteWrite)
	m.bad = 250
	wr := write(r, 0, make([]byte, 300))
	for _, ulpdu := range cut(&p.s, &wr, 114) { // 100 bytes of payload each
		p.place(ulpdu)
	}
	p.r.Deliver(math.MaxUint64)
	var access *AccessError
	if err := p.r.Err(); !errors.As(err, &access) || !access.Denied || access.TO != farBase+200 || access.Need != RemoteWrite || !errors.Is(err, errBadByte) {
		t.Errorf("error %v, want that of the third segment", err)
	}
}

func TestMemorySource(t *testing.T) {
	for _, n := range []int{1, 100, 300} {
		d := new(Domain)
		r, m := registerFar(t, d, 400, RemoteRead)
		for i := range m.b {
			m.b[i] = byte(i)
		}
		var s Sender
		var got []byte
		s.Start(&Message{Tagged: true, Len: uint32(n), Source: r, SourceTO: farBase + 10})
		for s.Next(114) {
			if !s.Segment().Snapshot {
				t.Error("the segment need not be copied, though the next one overwrites it")
			}
			for _, p := range s.Segment().Payload {
				got = append(got, p...)
			}
			s.Release()
		}
		if s.Err() != nil || !bytes.Equal(got, m.b[10:10+n]) {
			t.Errorf("%d bytes: %x, %v", n, got, s.Err())
		}
		m.bad = 10 + n - 1
		for _, by := range []*Stream{nil, NewStream(d, stream)} {
			s.Start(&Message{Tagged: true, Len: uint32(n), Source: r, SourceTO: farBase + 10, SourceStream: by})
			for s.Next(114) {
				s.Release()
			}
			var access *AccessError
			if !errors.Is(s.Err(), errBadByte) || !errors.As(s.Err(), &access) || (access.Need == RemoteRead) != (by != nil) {
				t.Errorf("for %v the Sender's error is %v, want that of the memory", by, s.Err())
			}
		}
		r.Deregister() // waits forever if the Sender still holds the Region
	}
}

func TestMemoryUpdate64(t *testing.T) {
	r, m := registerFar(t, new(Domain), 64, RemoteAtomic)
	binary.NativeEndian.PutUint64(m.b[8:], 40)
	old, err := r.Update64(8, func(v uint64) uint64 { return v + 2 })
	if v := binary.NativeEndian.Uint64(m.b[8:]); old != 40 || err != nil || v != 42 {
		t.Errorf("Update64 returned %d, %v and left %d", old, err, v)
	}
	if _, err := r.Update64(4, func(v uint64) uint64 { return v }); !errors.Is(err, ErrMisaligned) {
		t.Errorf("Update64 of a misaligned word: %v", err)
	}
	m.bad = 8
	if _, err := r.Update64(8, func(v uint64) uint64 { return v }); !errors.Is(err, errBadByte) {
		t.Errorf("Update64 of a bad byte: %v", err)
	}
}

// TestMemoryOnlyInOrder: nothing is placed in far memory before its turn, far memory has no
// windows, and Store reaches it.
func TestMemoryOnlyInOrder(t *testing.T) {
	p := newPair(t)
	r, m := registerFar(t, p.domain, 400, RemoteWrite)
	wr := write(r, 0, bytes.Repeat([]byte{1}, 200))
	ulpdus := cut(&p.s, &wr, 114)
	if p.r.TryPlace(1000, ulpdus[1]) || !untouched(m.b) {
		t.Error("a segment was placed early")
	}
	if d := p.r.Destination(ulpdus[0]); d != nil {
		t.Errorf("Destination returns %d bytes", len(d))
	}
	if _, err := r.Window(0, 8, RemoteWrite); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Window: %v", err)
	}
	if err := r.Store(3, []byte("abc")); err != nil || string(m.b[3:6]) != "abc" {
		t.Errorf("Store: %v, and the memory is %q", err, m.b[:8])
	}
	r.Deregister()
	var access *AccessError
	if err := r.Store(3, []byte("abc")); !errors.As(err, &access) {
		t.Errorf("Store after Deregister: %v", err)
	}
}

// The caller may choose the STag, and gets it unless another Region has it.
func TestMemorySTag(t *testing.T) {
	const chosen = STag(0x1234_5678)
	d := new(Domain)
	r, err := d.RegisterMemory(new(farMemory), chosen, 0, 8, RemoteRead, stream)
	if err != nil || r.STag() != chosen {
		t.Fatalf("STag %v, %v", r.STag(), err)
	}
	if _, err := d.RegisterMemory(new(farMemory), chosen, 0, 8, RemoteRead, stream); err == nil {
		t.Error("two Regions have one STag")
	}
	if _, err := d.Check(chosen, 0, 8, RemoteRead, stream); err != nil {
		t.Error(err)
	}
	r.Deregister()
	if _, err := d.RegisterMemory(new(farMemory), chosen, 0, 8, RemoteRead, stream); err != nil {
		t.Errorf("after Deregister: %v", err)
	}
}

// A farBuffer gives a Sender memory for each payload of at most most bytes.
type farBuffer struct {
	most   int
	header int
	given  [][]byte
}

func (f *farBuffer) Payload(header, n int) []byte {
	f.header = header
	if n > f.most {
		return nil
	}
	f.given = append(f.given, make([]byte, n))
	return f.given[len(f.given)-1]
}

// TestFarBuffer: the payload of far memory goes to the memory that the owner of the Sender gives,
// and stays there while other Segments are cut.
func TestFarBuffer(t *testing.T) {
	r, m := registerFar(t, new(Domain), 400, RemoteRead)
	for i := range m.b {
		m.b[i] = byte(i)
	}
	f := &farBuffer{most: 99}
	s := Sender{Far: f}
	s.Start(&Message{Tagged: true, Len: 250, Source: r, SourceTO: farBase})
	var got []byte
	for _, mulpdu := range []int{114, 14 + 99, 114} {
		if !s.Next(mulpdu) {
			t.Fatal(s.Err())
		}
		got = append(got, s.Segment().Payload[0]...)
		s.Release()
	}
	if !bytes.Equal(got, m.b[:250]) || f.header != TaggedHeaderLen {
		t.Errorf("other bytes, behind a header of %d", f.header)
	}
	if len(f.given) != 2 || !bytes.Equal(f.given[0], m.b[100:199]) || !bytes.Equal(f.given[1], m.b[199:250]) {
		t.Error("the memory that was given does not have the payload")
	}
}

// TestRegisterSink: a Read Response goes to the sink, and nothing else can use it. After Redirect
// it discards what arrives.
//
// +checklocksignore: hold locks, and the analyzer does not see that
func TestRegisterSink(t *testing.T) {
	p := newPair(t)
	m := &farMemory{b: bytes.Repeat([]byte{guard}, 400), bad: -1}
	if _, err := p.domain.RegisterSink(m, 0, stream); !errors.Is(err, errRegionLength) {
		t.Errorf("a sink of 0 bytes: %v", err)
	}
	r, err := p.domain.RegisterSink(m, 300, stream)
	if err != nil {
		t.Fatal(err)
	}
	if !p.domain.HasMemory() || r.Len() != 300 || r.TO() < 1<<62 {
		t.Errorf("%d bytes at %#x", r.Len(), r.TO())
	}
	for _, need := range []Access{RemoteRead, RemoteWrite, RemoteAtomic} {
		if _, err := p.domain.Check(r.STag(), r.TO(), 8, need, stream); err == nil {
			t.Errorf("%v is allowed", need)
		}
	}
	if _, err := p.domain.Check(r.STag(), r.TO(), 8, ReadSink, stream+1); err == nil {
		t.Error("another stream may use it")
	}
	if err := p.domain.Invalidate(r.STag(), stream); err == nil {
		t.Error("the peer may invalidate it")
	}
	s, _, err := NewStream(p.domain, stream).hold(r.STag(), r.TO()+100, 200, ReadSink)
	if err != nil {
		t.Fatal(err)
	}
	err = s.store(bytes.Repeat([]byte{7}, 200), r.TO()+100, ReadSink)
	s.mu.RUnlock()
	if err != nil || m.b[99] != guard || m.b[100] != 7 || m.b[299] != 7 || m.b[300] != guard {
		t.Errorf("%v, and other bytes are there", err)
	}
	Redirect(r, nil)
	if mem, err := r.hold(r.TO(), 8, ReadSink, nil); err != nil || mem != nil || r.memory != nil {
		t.Errorf("after Redirect the sink is still used: %v", err)
	} else {
		r.mu.RUnlock()
	}
	r.Deregister()
}
