package ddp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"testing"
	"testing/iotest"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

func TestRegisterLength(t *testing.T) {
	d := new(Domain)
	for _, b := range [][]byte{nil, {}, make([]byte, 5)[:0]} {
		if r, err := d.Register(b, RemoteWrite, stream); r != nil || !errors.Is(err, errRegionLength) {
			t.Errorf("Register(%v) = %v, %v, want errRegionLength", b, r, err)
		}
	}
	b := make([]byte, 1, 100)
	r := register(t, d, b, RemoteWrite|RemoteRead, stream)
	if r.Len() != 1 || &r.Bytes()[0] != &b[0] || r.Access() != RemoteWrite|RemoteRead {
		t.Errorf("Region of %d octets with %v, want 1 with both", r.Len(), r.Access())
	}
	// The capacity of the slice is not part of the Region.
	if _, err := d.Check(r.STag(), r.TO(), 2, RemoteWrite, stream); err == nil {
		t.Error("two octets of a Region of one may be written")
	}
}

// TestNoOtherRights: a Region grants only rights that exist, whatever it was registered with. The
// same holds for a window.
func TestNoOtherRights(t *testing.T) {
	d := new(Domain)
	regions := []*Region{register(t, d, make([]byte, 8), ^Access(0), stream)}
	far, err := d.RegisterMemory(&farMemory{b: make([]byte, 8), bad: -1}, 0, farBase, 8, ^Access(0), stream)
	if err != nil {
		t.Fatal(err)
	}
	const none = ^Access(0) &^ everyRight
	w, err := register(t, d, make([]byte, 8), none|RemoteRead, stream).Window(0, 8, none|RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Check(w.STag(), w.TO(), 1, none, stream); err == nil {
		t.Error("a window grants what is no right")
	}
	for _, r := range append(regions, far) {
		for right := Access(1); right != 0; right <<= 1 {
			_, err := d.Check(r.STag(), r.TO(), 1, right, stream)
			if granted := err == nil; granted != (right&everyRight != 0) {
				t.Errorf("%v: a Region with all bits of Access: %v", right, err)
			}
		}
	}
}

// Buffers of 2^32 octets are refused. (None of the memory is touched.)
func TestLongestBuffers(t *testing.T) {
	if testmode.Race || bits.UintSize == 32 {
		t.Skip("no such buffer can be made")
	}
	n := uint64(maxMessageLen)
	b := make([]byte, n+1)
	if _, err := new(Domain).Register(b, RemoteWrite, stream); !errors.Is(err, errRegionLength) {
		t.Errorf("Register of 2^32 octets = %v, want errRegionLength", err)
	}
	if err := post(NewQueue(1, 0), nil, b, 1); !errors.Is(err, errBufferLength) {
		t.Errorf("Post of 2^32 octets = %v, want errBufferLength", err)
	}
	func() {
		defer func() {
			if v := recover(); v == nil {
				t.Error("Bind of 2^32 octets does not panic")
			}
		}()
		NewReceiver(ReceiverConfig{}).Bind(QNSend, b[:1], b[1:])
	}()
	if !NewReceiver(ReceiverConfig{}).Bind(QNSend, b[:1], b[1:n]) {
		t.Error("Bind of 2^32-1 octets = false")
	}
	if err := post(NewQueue(1, 0), nil, b[:n], 1); err != nil {
		t.Errorf("Post of 2^32-1 octets = %v", err)
	}
	d := new(Domain)
	r := register(t, d, b[:n], RemoteWrite, stream)
	if _, err := d.Check(r.STag(), r.TO()+1, n-1, RemoteWrite, stream); err != nil || uint64(r.Len()) != n {
		t.Errorf("Check of the rest of %d octets = %v", r.Len(), err)
	}
	if _, err := d.Check(r.STag(), r.TO()+1, n, RemoteWrite, stream); err == nil {
		t.Error("Check succeeds beyond the end")
	}
}

// keys is a random source that gives these STags, each with a TO of all ones.
func keys(stags ...uint32) io.Reader {
	var b []byte
	for _, s := range stags {
		b = binary.BigEndian.AppendUint32(b, s)
		b = append(b, bytes.Repeat([]byte{0xFF}, 8)...)
	}
	return io.MultiReader(bytes.NewReader(b), zeros{})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestRegisterDraws(t *testing.T) {
	d := &Domain{Random: keys(0, 7, 7, 7, 0, 9)}
	mem := make([]byte, 16)
	for _, want := range []STag{7, 9} { // never 0, never one in use
		r := register(t, d, mem, RemoteWrite, stream)
		if r.STag() != want {
			t.Errorf("STag = %v, want %v", r.STag(), want)
		}
		if end := r.TO() + uint64(r.Len()); r.TO()&7 != misalignment(mem) || end < r.TO() || r.TO()>>62 != 1 {
			t.Errorf("TO = %#x", r.TO())
		}
	}
	if _, err := d.Register(mem, RemoteWrite, stream); !errors.Is(err, errNoSTag) {
		t.Errorf("Register with a source of zeros: %v, want errNoSTag", err)
	}
	broken := errors.New("broken")
	if _, err := (&Domain{Random: iotest.ErrReader(broken)}).Register(mem, RemoteWrite, stream); !errors.Is(err, broken) {
		t.Errorf("Register with a broken source: %v, want its error", err)
	}
}

// TO and address agree modulo 8, and have nothing else in common. There is no address on the wire.
func TestRegisterAlignment(t *testing.T) {
	d := new(Domain)
	mem := make([]byte, 64)
	for off := range 16 {
		r := register(t, d, mem[off:], RemoteAtomic, stream)
		if r.TO()%8 != misalignment(mem[off:]) {
			t.Errorf("TO = %#x for an address that is %d modulo 8", r.TO(), misalignment(mem[off:]))
		}
	}
}
