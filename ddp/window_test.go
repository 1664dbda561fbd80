package ddp

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

func window(t testing.TB, r *Region, off, n int, access Access) *Region {
	t.Helper()
	w, err := r.Window(off, n, access)
	if err != nil {
		t.Fatalf("Window(%d, %d, %v): %v", off, n, access, err)
	}
	return w
}

const allRights = RemoteRead | RemoteWrite | RemoteAtomic

func TestWindowRange(t *testing.T) {
	r := register(t, new(Domain), make([]byte, 64), allRights, stream)
	tests := []struct {
		desc   string
		off, n int
		want   error
	}{
		{"all of it", 0, 64, nil},
		{"the first octet", 0, 1, nil},
		{"the last octet", 63, 1, nil},
		{"no octet", 8, 0, errOutside},
		{"no octet at the end", 64, 0, errOutside},
		{"fewer than none", 8, -1, errOutside},
		{"before the start", -1, 1, errOutside},
		{"from before the start", -1, 2, errOutside},
		{"one octet beyond the end", 0, 65, errOutside},
		{"across the end", 63, 2, errOutside},
		{"behind the end", 64, 1, errOutside},
		{"a sum that wraps", math.MaxInt, math.MaxInt, errOutside},
		{"a length that would wrap", 1, math.MaxInt, errOutside},
		{"the least of all", math.MinInt, math.MinInt, errOutside},
	}
	for _, tt := range tests {
		w, err := r.Window(tt.off, tt.n, RemoteRead)
		if !isError(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.desc, err, tt.want)
		}
		if err != nil {
			continue
		}
		if w.Len() != tt.n || &w.Bytes()[0] != &r.Bytes()[tt.off] || cap(w.Bytes()) != tt.n {
			t.Errorf("%s: %d octets, of capacity %d", tt.desc, w.Len(), cap(w.Bytes()))
		}
		if w.STag() == r.STag() || w.STag() == 0 {
			t.Errorf("%s: STag %v, that of the Region is %v", tt.desc, w.STag(), r.STag())
		}
	}
}

// A window has at most the rights of its Region, and only its own rights count for it, whatever the
// Region has.
//
// SEC-5042-2.2.5-3, SEC-5042-6.1.1-4, SEC-5042-6.1.1-6
func TestWindowRights(t *testing.T) {
	d := new(Domain)
	for granted := range Access(16) {
		for _, scope := range []uint64{0, stream, stream + 1} {
			r := register(t, d, make([]byte, 8), granted, scope)
			for asked := range Access(16) {
				w, err := r.Window(0, 8, asked)
				var want error
				if asked&^granted != 0 || granted&ReadSink != 0 {
					want = errDenied
				}
				if !isError(err, want) {
					t.Errorf("a window with %v of %v: %v, want %v", asked, granted, err, want)
				}
				if err != nil {
					continue
				}
				for need := range Access(16) {
					var want []accessCheck
					switch {
					case scope == stream+1:
						want = []accessCheck{checkNotAssociated}
					case need&^asked != 0:
						want = []accessCheck{checkAccess}
					}
					_, err := d.Check(w.STag(), w.TO(), 8, need, stream)
					if got := kinds(err); !slices.Equal(got, want) {
						t.Errorf("Check(%v) of a window with %v of stream %d = %v, want %v", need, asked, scope, err, want)
					}
				}
			}
		}
	}
}

// TestWindowBounds tries every range at every bound, of the window by its STag and of the Region by
// its own. A range that is not inside is refused, and no octet outside the window changes.
//
// SEC-5042-2.2.2-2, SEC-5042-6.2.1-1, SEC-5042-6.2.2-2
func TestWindowBounds(t *testing.T) {
	const size, off, n = 40, 11, 9
	for from := off - 3; from <= off+n+3; from++ {
		for length := 1; length <= n+4; length++ {
			p := newPair(t)
			g := newGuarded(size)
			r := p.register(g.mem, RemoteWrite)
			w := window(t, r, off, n, RemoteWrite)
			payload := bytes.Repeat([]byte{^byte(guard)}, length)
			want := bytes.Clone(g.mem)
			// The Write as the peer would send it: relative to the window's TO, which may be less
			// than 0.
			m := Message{Tagged: true, RsvdULP: 0x40, STag: w.STag(), TO: w.TO() + uint64(from-off), Payload: [][]byte{payload}, Len: uint32(length)}
			ulpdu := cut(&p.s, &m, 1000)[0]
			early := p.r.TryPlace(p.off+1000, ulpdu)
			inside := from >= off && from+length <= off+n
			if inside {
				copy(want[from:], payload)
			}
			if early != inside {
				t.Errorf("[%d, %d) of window [%d, %d): placed early: %t", from, from+length, off, off+n, early)
			}
			p.place(ulpdu)
			if delivered := p.r.Deliver(p.off); delivered != inside {
				t.Errorf("[%d, %d) of window [%d, %d): delivered: %t", from, from+length, off, off+n, delivered)
			}
			var e *AccessError
			if !inside && (!errors.As(p.r.Err(), &e) || checkOf(e) != checkBounds) {
				t.Errorf("[%d, %d) of window [%d, %d): %v, want a bounds violation", from, from+length, off, off+n, p.r.Err())
			}
			if !bytes.Equal(g.mem, want) || !g.intact() {
				t.Errorf("[%d, %d) of window [%d, %d) changes\n%x\nwant\n%x", from, from+length, off, off+n, g.mem, want)
			}
		}
	}
}

// Neither STag reaches anything with the other's TOs, nor with rights that only the other has.
func TestWindowIsApartFromItsRegion(t *testing.T) {
	d := new(Domain)
	r := register(t, d, make([]byte, 64), RemoteRead|RemoteWrite, stream)
	w := window(t, r, 16, 16, RemoteRead)
	sibling := window(t, r, 24, 16, RemoteWrite)
	inner := window(t, w, 4, 8, RemoteRead)
	all := []*Region{r, w, sibling, inner}
	for i, a := range all {
		for j, b := range all {
			for off := range b.Len() {
				_, err := d.Check(a.STag(), b.TO()+uint64(off), 1, RemoteRead, stream)
				want := []accessCheck{checkBounds}
				switch {
				case a == sibling:
					want = []accessCheck{checkAccess}
				case i == j:
					want = nil
				}
				if got := kinds(err); !slices.Equal(got, want) {
					t.Fatalf("STag of %d, octet %d of %d: %v, want %v", i, off, j, err, want)
				}
			}
		}
	}
}

// RFC 7306 §5: a word that is aligned for the peer is aligned here, in windows too.
func TestWindowAlignment(t *testing.T) {
	d := new(Domain)
	mem := make([]byte, 32)
	for start := range 8 {
		r := register(t, d, mem[start:], RemoteAtomic, stream)
		for off := range 9 {
			w := window(t, r, off, 15, RemoteAtomic)
			if (r.TO()+uint64(off))%8 != w.TO()%8 {
				t.Errorf("the octet at TO %#x of the Region has TO %#x in the window", r.TO()+uint64(off), w.TO())
			}
			for at := range 8 {
				_, err := w.Load64(at)
				if aligned := (r.TO()+uint64(off+at))%8 == 0; aligned != (err == nil) || !aligned && !errors.Is(err, ErrMisaligned) {
					t.Errorf("Load64 at offset %d of memory: %v", start+off+at, err)
				}
			}
		}
	}
}

func TestWindowAtomics(t *testing.T) {
	d := new(Domain)
	r := register(t, d, make([]byte, 64), RemoteAtomic, stream)
	w := window(t, window(t, r, 8, 48, RemoteAtomic), 8, 16, RemoteAtomic)
	var wg sync.WaitGroup
	for _, by := range []struct {
		r  *Region
		to uint64
	}{{r, r.TO() + 24}, {w, w.TO() + 8}} {
		wg.Go(func() {
			for range 1000 {
				if _, err := by.r.Update64(int(by.to-by.r.base), func(v uint64) uint64 { return v + 1 }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if v, err := r.Load64(24); v != 2000 || err != nil {
		t.Errorf("the word that both have counted in is %d, %v", v, err)
	}
	for _, to := range []uint64{w.TO() - 8, w.TO() - 1, w.TO() + 9, w.TO() + 16} {
		if _, err := w.Update64(int(to-w.base), func(v uint64) uint64 { return v + 1 }); !slices.Equal(kinds(err), []accessCheck{checkBounds}) {
			t.Errorf("Update64 at %d of the window's 16 octets: %v", int64(to-w.TO()), err)
		}
	}
}

// A window can end alone, when we or the peer end it. All windows end with their Region.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestWindowEnds(t *testing.T) {
	valid := func(r *Region) bool {
		got, err := r.domain.Check(r.STag(), r.TO(), uint64(r.Len()), r.Access(), stream)
		return err == nil && got == r
	}
	type family struct{ r, w, sibling, inner *Region }
	tests := []struct {
		desc string
		end  func(f family) error
		want family // those that are left are not nil
	}{
		{"Deregister of a window", func(f family) error { f.w.Deregister(); return nil }, family{r: new(Region), sibling: new(Region)}},
		{"twice", func(f family) error { f.w.Deregister(); f.w.Deregister(); return nil }, family{r: new(Region), sibling: new(Region)}},
		{"Deregister of a window's window", func(f family) error { f.inner.Deregister(); return nil }, family{r: new(Region), w: new(Region), sibling: new(Region)}},
		{"the peer invalidates a window", func(f family) error { return f.r.domain.Invalidate(f.w.STag(), stream) }, family{r: new(Region), sibling: new(Region)}},
		{"the peer invalidates a window's window", func(f family) error { return f.r.domain.Invalidate(f.inner.STag(), stream) }, family{r: new(Region), w: new(Region), sibling: new(Region)}},
		{"Deregister of the Region", func(f family) error { f.r.Deregister(); return nil }, family{}},
		{"the peer invalidates the Region", func(f family) error { return f.r.domain.Invalidate(f.r.STag(), stream) }, family{}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			d := new(Domain)
			var f family
			f.r = register(t, d, make([]byte, 64), allRights, stream)
			f.w, f.sibling = window(t, f.r, 0, 32, allRights), window(t, f.r, 16, 32, RemoteRead)
			f.inner = window(t, f.w, 8, 8, RemoteWrite)
			if err := tt.end(f); err != nil {
				t.Fatal(err)
			}
			left := 0
			for _, x := range []struct {
				name    string
				r, want *Region
			}{{"Region", f.r, tt.want.r}, {"window", f.w, tt.want.w}, {"other window", f.sibling, tt.want.sibling}, {"window's window", f.inner, tt.want.inner}} {
				if valid(x.r) != (x.want != nil) {
					t.Errorf("%s: valid afterwards: %t", x.name, valid(x.r))
				}
				_, err := x.r.Window(0, 1, 0)
				if x.want != nil {
					left++
					if err != nil {
						t.Errorf("%s: another window: %v", x.name, err)
					}
				} else if !isError(err, errInvalid) {
					t.Errorf("%s: another window: %v, want errInvalid", x.name, err)
				}
			}
			// each with its new window
			if len(d.regions) != 2*left { // +checklocksignore: no other goroutine is at work
				t.Errorf("%d STags are valid, want %d", len(d.regions), 2*left) // +checklocksignore: no other goroutine is at work
			}
			if f.r.Deregister(); len(d.regions) != 0 || len(f.r.windows.all) != 0 || len(f.w.windows.all) != 0 { // +checklocksignore: no other goroutine is at work
				t.Errorf("%d STags are valid in the end; windows %v, %v", len(d.regions), f.r.windows.all, f.w.windows.all) // +checklocksignore: no other goroutine is at work
			}
		})
	}
}

// A peer can't invalidate the windows of a Region that is every stream's, nor those of another
// stream.
func TestWindowInvalidate(t *testing.T) {
	d := new(Domain)
	for _, tt := range []struct {
		scope uint64
		want  error
	}{{0, errNotInvalidatable}, {stream + 1, errOtherStream}, {stream, nil}} {
		w := window(t, register(t, d, make([]byte, 8), RemoteRead, tt.scope), 0, 8, RemoteRead)
		if err := d.Invalidate(w.STag(), stream); !isError(err, tt.want) {
			t.Errorf("a window on stream %d: Invalidate = %v, want %v", tt.scope, err, tt.want)
		}
	}
}

// +checklocksignore: the test looks inside while no other goroutine is at work
func TestWindowWithoutRandomness(t *testing.T) {
	d := &Domain{Random: io.LimitReader(bytes.NewReader(bytes.Repeat([]byte{1}, 32*keyLen)), 32*keyLen)}
	r := register(t, d, make([]byte, 8), RemoteRead, stream)
	if w, err := r.Window(0, 8, RemoteRead); err == nil { // the same STag again and again, then none
		t.Errorf("Window = %v", w.STag())
	}
	if len(d.regions) != 1 || len(r.windows.all) != 0 {
		t.Errorf("%d Regions and %d windows afterwards", len(d.regions), len(r.windows.all))
	}
}

// A Region that discards has no memory, so it can have no window.
func TestWindowOfDiscarded(t *testing.T) {
	r := register(t, new(Domain), make([]byte, 8), RemoteWrite, stream)
	Redirect(r, nil)
	if _, err := r.Window(0, 8, RemoteWrite); !isError(err, errInvalid) {
		t.Errorf("Window: %v", err)
	}
}

// Deregister waits for a placement that is under way, in the Region itself, a window of it, or a
// window of that; a second Deregister at the same time waits too. DDP-5041-8.3.1-7 SEC-5042-6.2.2-2
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestDeregisterWaits(t *testing.T) {
	r := func(t *testing.T) *Region { return register(t, new(Domain), make([]byte, 64), RemoteWrite, stream) }
	tests := []struct {
		desc string
		make func(t *testing.T) (placed, ended *Region)
	}{
		{"the Region", func(t *testing.T) (placed, ended *Region) { r := r(t); return r, r }},
		{"a window, itself", func(t *testing.T) (placed, ended *Region) {
			w := window(t, r(t), 8, 8, RemoteWrite)
			return w, w
		}},
		{"a window, by its Region", func(t *testing.T) (placed, ended *Region) {
			r := r(t)
			return window(t, r, 8, 8, RemoteWrite), r
		}},
		{"a window's window, by the Region", func(t *testing.T) (placed, ended *Region) {
			r := r(t)
			return window(t, window(t, r, 8, 8, RemoteWrite), 0, 4, RemoteWrite), r
		}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			placed, ended := tt.make(t)
			// This is where a placement is between its check and its end.
			_, mem, err := NewStream(placed.domain, stream).hold(placed.STag(), placed.TO(), 4, RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			var over atomic.Bool
			var early atomic.Int32
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					ended.Deregister()
					if !over.Load() {
						early.Add(1)
					}
				})
			}
			// Once Deregister waits for the lock nobody else gets it.
			for early.Load() == 0 && placed.mu.TryRLock() {
				placed.mu.RUnlock() // +checklocksignore: hold or TryRLock has locked it
				runtime.Gosched()
			}
			copy(mem, "late") // the race detector sees it if somebody has returned
			over.Store(true)
			placed.mu.RUnlock() // +checklocksignore: hold or TryRLock has locked it
			wg.Wait()
			if n := early.Load(); n > 0 {
				t.Errorf("%d Deregisters returned while octets were placed", n)
			}
			if _, _, err := NewStream(placed.domain, stream).hold(placed.STag(), placed.TO(), 4, RemoteWrite); !slices.Equal(kinds(err), []accessCheck{checkInvalidSTag}) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Peers write through a window while the application revokes it, or the Region, and then uses the
// memory: not one octet comes late. Writes through a second window continue when only the first is
// revoked. DDP-5041-8.3.1-7 SEC-5042-6.2.2-2
func TestRFC5041_8_3_1_NoChangeAfterWindowRevocation(t *testing.T) {
	const rounds, part = 48, 1024
	revoke := []struct {
		desc string
		f    func(r, w *Region)
	}{
		{"the window", func(_, w *Region) { w.Deregister() }},
		{"the window, by the peer", func(_, w *Region) { w.domain.Invalidate(w.STag(), stream) }},
		{"the Region", func(r, _ *Region) { r.Deregister() }},
		{"both at once", func(r, w *Region) {
			var wg sync.WaitGroup
			wg.Go(w.Deregister)
			r.Deregister() // this one alone must be enough
			defer wg.Wait()
		}},
	}
	for _, tt := range revoke {
		t.Run(tt.desc, func(t *testing.T) {
			for round := range rounds {
				domain := new(Domain)
				mem := make([]byte, 3*part)
				r := register(t, domain, mem, RemoteWrite, stream)
				w, other := window(t, r, part, part, RemoteWrite), window(t, r, 2*part, part, RemoteWrite)
				if round%2 == 1 {
					w = window(t, w, 0, part, RemoteWrite)
				}
				var through, beside atomic.Int64
				var revoked atomic.Bool
				var wg sync.WaitGroup
				for _, x := range []struct {
					r *Region
					n *atomic.Int64
				}{{w, &through}, {other, &beside}} {
					m := write(x.r, 0, bytes.Repeat([]byte{0xFF}, part))
					wg.Go(func() {
						// Two more turns when the access is over: they begin after it was revoked.
						for left := 2; left > 0; {
							if revoked.Load() {
								left--
							}
							p := &pair{TB: t, r: NewReceiver(ReceiverConfig{Stream: NewStream(domain, stream)})}
							p.send(m, 300)
							for p.r.Deliver(p.off) {
								x.n.Add(1)
							}
						}
					})
				}
				prototest.Wait(t, "Writes", func() bool { return through.Load() > 0 && beside.Load() > 0 })
				tt.f(r, w)
				for i := range part {
					mem[part+i] = guard
				}
				before := through.Load()
				besideBefore := beside.Load()
				otherLives := domain.lookup(other.STag()) != nil
				revoked.Store(true)
				wg.Wait()
				if otherLives && beside.Load() < besideBefore+2 {
					t.Error("the other window has ended too")
				}
				// The last Write may have been placed before the window ended, and be counted
				// after.
				if late := through.Load() - before; late > 1 {
					t.Fatalf("%d Writes through the window after its end", late)
				}
				if !untouched(mem[part : 2*part]) {
					t.Fatal("memory changed after the window had been revoked")
				}
				if !untouchedZero(mem[:part]) {
					t.Fatal("memory outside the windows changed")
				}
			}
		})
	}
}

func untouchedZero(b []byte) bool { return bytes.Equal(b, make([]byte, len(b))) }

// Windows come and go in several goroutines while the Region ends: each is either refused or ends
// with it.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestWindowsRaceWithDeregister(t *testing.T) {
	for range 100 {
		d := new(Domain)
		r := register(t, d, make([]byte, 64), RemoteWrite, stream)
		var wg sync.WaitGroup
		var made atomic.Int64
		for n := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					w, err := r.Window(n, 8, RemoteWrite)
					if isError(err, errInvalid) {
						return
					}
					if err != nil {
						t.Errorf("Window: %v", err)
						return
					}
					made.Add(1)
					if i%2 == 0 {
						d.Invalidate(w.STag(), stream)
					}
				}
			})
		}
		prototest.Wait(t, "eight windows", func() bool { return made.Load() >= 8 })
		r.Deregister()
		d.mu.RLock()
		left := len(d.regions)
		d.mu.RUnlock()
		wg.Wait()
		if left != 0 || len(d.regions) != 0 {
			t.Errorf("%d STags valid after Deregister, %d in the end", left, len(d.regions))
		}
	}
}
