package ddp

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// These tests try faults that other implementations had; conformance/cves.md lists them all.

// TestCVE_2021_47012_RegistrationFails: siw used a region that the error path of its creation had
// freed. Here a Register that fails half-way, because there is no randomness, leaves nothing in the
// table, and the next Register works.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestCVE_2021_47012_RegistrationFails(t *testing.T) {
	b := make([]byte, 64)
	for n := range 800 {
		d := &Domain{Random: io.MultiReader(io.LimitReader(rand.Reader, int64(n)), eofOnce(), rand.Reader)}
		good := 0
		for {
			r, err := d.Register(b, RemoteWrite, stream)
			if err != nil {
				if r != nil {
					t.Fatalf("a Region and an error: %v", err)
				}
				break
			}
			good++
			if good > 1000 {
				t.Fatal("no error")
			}
		}
		if len(d.regions) != good {
			t.Fatalf("%d Regions after %d good registrations and a bad one", len(d.regions), good)
		}
		if _, err := d.Register(b, RemoteWrite, stream); err != nil {
			t.Fatalf("after the failure: %v", err)
		}
	}
	// A source that repeats itself can't be told from a used STag: also clean.
	d := (&Domain{Random: zeros{}})
	if r, err := d.Register(b, RemoteWrite, stream); err == nil || r != nil || len(d.regions) != 0 {
		t.Errorf("STag 0 is registered: %v, %v", r, err)
	}
}

type failOnce struct{ done bool }

// eofOnce returns a reader that fails once, with another error than io.EOF.
func eofOnce() io.Reader { return &failOnce{} }

func (f *failOnce) Read([]byte) (int, error) {
	if f.done {
		return 0, io.EOF
	}
	f.done = true
	return 0, errors.New("no randomness")
}

// TestCVE_2026_68417_PublishedWhole: siw let an object be found before it was initialized. Here the
// peer knows the STag in advance and tries it while the Region is being registered: it finds no
// Region, or a complete one.
func TestCVE_2026_68417_PublishedWhole(t *testing.T) {
	keys := fixed{}
	r := register(t, (&Domain{Random: keys}), make([]byte, 64), RemoteWrite, stream)
	stag, to := r.STag(), r.TO()
	d := (&Domain{Random: keys})
	var stop atomic.Bool
	var wg sync.WaitGroup
	var found atomic.Int64
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stop.Load() {
				got, err := d.Check(stag, to, 64, RemoteWrite, stream)
				if err == nil && (got.Len() != 64 || got.TO() != to || got.STag() != stag || len(got.Bytes()) != 64) {
					t.Errorf("half a Region: %+v", got)
				}
				var e *AccessError
				if err != nil && (!errors.As(err, &e) || checkOf(e) != checkInvalidSTag) {
					t.Errorf("half a Region: %v", err)
				}
				if err == nil {
					found.Add(1)
				}
				runtime.Gosched()
			}
		}()
	}
	for range 2000 {
		r := register(t, d, make([]byte, 64), RemoteWrite, stream)
		runtime.Gosched()
		r.Deregister()
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("found %d times in 2000 lives", found.Load())
}

// fixed is a random source that draws the same STag and TO for every Region.
type fixed struct{}

func (fixed) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i%keyLen) + 1
	}
	return len(p), nil
}

// TestCVE_2016_8636_RangeOverflow: rxe, and siw, srpt and nvmet later, compared sums of offset and
// length that had wrapped. Here no check lets an access through because a sum wraps.
func TestCVE_2016_8636_RangeOverflow(t *testing.T) {
	w := newBoundsWorld(t, 64)
	r := w.regions[0]
	for d := range uint64(200) {
		for _, c := range []struct{ to, n uint64 }{
			{r.base + 8, -(r.base + 8) + d},    // to just about 0
			{-d, 64 + d},                       // from just below 2^64 into the Region at 0
			{r.base + d, -d},                   // nearly all of the numbers there are
			{r.base + 32, ^uint64(0) - 40 + d}, // ends inside after the wrap
		} {
			end, wraps := c.to+c.n, c.to+c.n < c.to
			inside := !wraps && c.to >= r.base && end <= r.base+64
			if _, err := w.domain.Check(r.stag, c.to, c.n, RemoteWrite, stream); (err == nil) != inside {
				t.Errorf("%d octets at %#x: %v", c.n, c.to, err)
			}
			if _, err := r.Update64(int(c.to-r.base), func(v uint64) uint64 { return v + 1 }); err == nil && (c.to < r.base || c.to > r.base+56) {
				t.Errorf("a word at %#x", c.to)
			}
			if err := r.Store64(int(c.to-r.base), 1); err == nil && c.to-r.base > 56 {
				t.Errorf("a word at offset %#x", c.to-r.base)
			}
		}
	}
	if !w.memory[0].intact() {
		t.Error("octets around the Region have changed")
	}
}

// TestCVE_2026_52908_RightsDoNotWiden: rxe gave a region that was registered again more rights than
// requested. Here the rights of a Region never change: another Region over the same memory, or a
// window, adds none to its STag.
func TestCVE_2026_52908_RightsDoNotWiden(t *testing.T) {
	d := new(Domain)
	b := make([]byte, 64)
	for have := range Access(16) {
		r := register(t, d, b, have, stream)
		again := register(t, d, b, RemoteRead|RemoteWrite|RemoteAtomic, stream)
		for more := range Access(16) {
			w, err := r.Window(0, 32, more)
			if ok := more&^have == 0 && have&ReadSink == 0; ok != (err == nil) {
				t.Errorf("a window with %v of a Region with %v: %v", more, have, err)
			}
			if err == nil {
				w.Deregister()
			}
		}
		for need := Access(1); need < 16; need <<= 1 {
			if _, err := d.Check(r.STag(), r.TO(), 64, need, stream); (err == nil) != (have&need != 0) {
				t.Errorf("%v of a Region with %v: %v", need, have, err)
			}
		}
		again.Deregister()
		r.Deregister()
	}
}

// TestCVE_2024_40992_SendLongerThanItsBuffer: rxe did not compare the length of a message with its
// buffer. Here each segment is checked at its offset: one octet too many ends the stream, and
// nothing of that segment is placed.
func TestCVE_2024_40992_SendLongerThanItsBuffer(t *testing.T) {
	for room := range 40 {
		for n := range 60 {
			for first := range min(n, room) + 1 { // octets in a first segment
				p := newPair(t)
				g := p.post(QNSend, room, 1)
				payload := bytes.Repeat([]byte{0x11}, n)
				if first > 0 {
					p.place(append(UntaggedHeader{MSN: 1}.AppendTo(nil), payload[:first]...))
				}
				bad := append(UntaggedHeader{Last: true, MSN: 1, MO: uint32(first)}.AppendTo(nil), payload[first:]...)
				p.place(bad)
				if n <= room {
					if m := p.wantMessage("a Send that fits"); len(m.Buffer) != n {
						t.Errorf("%d octets delivered, want %d", len(m.Buffer), n)
					}
				} else {
					p.wantFailure(bad, CodeTooLong)
					if !untouched(g.mem[first:]) {
						t.Errorf("octets of the segment that is too long are placed: %x", g.mem)
					}
				}
				if !g.intact() {
					t.Fatalf("octets around the buffer have changed: %x", g.all)
				}
			}
			if n%7 != 0 && n > room+2 {
				break
			}
		}
	}
}
