package ddp

import (
	"errors"
	"runtime"
	"sync"
	"testing"
)

func TestUpdate64(t *testing.T) {
	mem := make([]byte, 64)
	start := int(-misalignment(mem) & 7) // offset of the first aligned octet
	r := register(t, new(Domain), mem, RemoteAtomic, stream)
	add := func(v uint64) uint64 { return v + 5 }
	for off := range 70 {
		aligned, inside := (off-start)%8 == 0, off+8 <= len(mem)
		if inside && aligned {
			if err := r.Store64(off, 1<<40); err != nil {
				t.Errorf("Store64(%d): %v", off, err)
			}
		}
		old, err := r.Update64(off, add)
		v, lerr := r.Load64(off)
		serr := r.Store64(off, 0)
		switch {
		case !inside:
			for _, err := range []error{err, lerr, serr} {
				if k := kinds(err); len(k) != 1 || k[0] != checkBounds {
					t.Errorf("offset %d: %v, want a bounds violation", off, err)
				}
			}
		case !aligned:
			for _, err := range []error{err, lerr, serr} {
				if !errors.Is(err, ErrMisaligned) {
					t.Errorf("offset %d: %v, want ErrMisaligned", off, err)
				}
			}
		case old != 1<<40 || v != 1<<40+5 || err != nil || lerr != nil || serr != nil:
			t.Errorf("offset %d: Update64 = %d, %v, then Load64 = %d, %v; Store64: %v", off, old, err, v, lerr, serr)
		}
	}
	if _, err := r.Load64(-8); err == nil {
		t.Error("Load64(-8) works")
	}
	if _, err := r.Update64(-8, add); err == nil {
		t.Error("Update64 works before the Region")
	}
	for _, o := range mem {
		if o != 0 {
			t.Fatalf("memory = %x, want zeros", mem)
		}
	}
}

// Atomics of several streams and of the application lose no update.
func TestUpdate64Races(t *testing.T) {
	const goroutines, times = 4, 2000
	mem := make([]byte, 16)
	r := register(t, new(Domain), mem, RemoteAtomic, 0)
	off := int(-misalignment(mem) & 7)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var last uint64
			for range times {
				old, err := r.Update64(off, func(v uint64) uint64 {
					if v>>33%8 == 0 {
						runtime.Gosched() // in the middle
					}
					return v + 1<<33
				})
				if err != nil || old < last {
					t.Errorf("Update64 = %#x, %v after %#x", old, err, last)
					return
				}
				last = old
				if v, err := r.Load64(off); err != nil || v <= last {
					t.Errorf("Load64 = %#x, %v after %#x", v, err, last)
					return
				}
			}
		}()
	}
	wg.Wait()
	if v, err := r.Load64(off); v != goroutines*times<<33 || err != nil {
		t.Errorf("sum = %#x, %v, want %#x", v, err, uint64(goroutines*times)<<33)
	}
}

// Deregister ends atomics as it ends Writes.
func TestUpdate64RacesDeregister(t *testing.T) {
	for range 200 {
		mem := make([]byte, 16)
		r := register(t, new(Domain), mem, RemoteAtomic, 0)
		off := int(-misalignment(mem) & 7)
		started, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				if _, err := r.Update64(off, func(v uint64) uint64 { return v + 1 }); err != nil {
					return
				}
				if n == 0 {
					close(started)
				}
			}
		}()
		<-started
		r.Deregister()
		for i := range mem { // the race detector sees it if an update comes late
			mem[i] = guard
		}
		<-done
		if !untouched(mem) {
			t.Fatal("memory changed after Deregister had returned")
		}
	}
}
