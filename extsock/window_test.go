package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

const everyAccess = ddp.RemoteRead | ddp.RemoteWrite | ddp.RemoteAtomic

func window(t testing.TB, r extsock.Region, off, n int, access ddp.Access) extsock.Region {
	t.Helper()
	w, err := r.Window(off, n, access)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWindow: a peer uses a window like any registered memory, until either end ends it. The Region
// stays.
func TestWindow(t *testing.T) {
	for _, depth := range []int{1, 3} { // windows of windows
		for _, how := range []string{"Deregister", "Send with Invalidate"} {
			t.Run(fmt.Sprintf("%s, depth %d", how, depth), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ci, cr := simPair(t, simtoe.Config{}, side{}, postRecvs(extsock.Config{}, 1, 8))
					memory := pattern(256, 1)
					r := register(t, cr, memory, everyAccess)
					w := r
					for i := range depth {
						w = window(t, w, 16, 128-i*32, everyAccess)
					}
					off := depth * 16
					m := ci.Remote(w.Handle())
					if n := int(w.Handle().Len); n != 128-(depth-1)*32 {
						t.Errorf("the window has %d octets, want %d", n, 128-(depth-1)*32)
					}
					p := make([]byte, w.Handle().Len)
					if _, err := m.ReadAt(p, 0); err != nil || !bytes.Equal(p, memory[off:off+len(p)]) {
						t.Errorf("ReadAt: %v, %x", err, p)
					}
					want := bytes.Clone(memory)
					copy(want[off+len(p)-5:], "write")
					if _, err := m.WriteAt([]byte("write"), int64(w.Handle().Len)-5); err != nil {
						t.Errorf("WriteAt: %v", err)
					}
					if old, err := extsock.Swap(t.Context(), m, 8, 41); err != nil || old == 41 {
						t.Errorf("Swap: %d, %v", old, err)
					}
					if old, err := ci.Remote(r.Handle()).FetchAdd(t.Context(), int64(off+8), 1); err != nil || old != 41 {
						t.Errorf("FetchAdd of the same word of the Region: %d, %v", old, err)
					}
					if old, err := m.CompareAndSwap(t.Context(), 8, 42, 0); err != nil || old != 42 {
						t.Errorf("CompareAndSwap: %d, %v", old, err)
					}
					copy(want[off+8:], make([]byte, 8))
					if how == "Deregister" {
						w.Deregister()
					} else {
						do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkSendInvalidate, Invalidate: w.Handle().STag})
						if d := complete(t, cr.RecvCQ()); !d.HasInvalidated || d.Invalidated != w.Handle().STag {
							t.Errorf("the receiver hears %v", d)
						}
					}
					if _, err := ci.Remote(r.Handle()).ReadAt(p, 0); err != nil { // and so all is placed
						t.Errorf("ReadAt of the Region: %v", err)
					}
					if !bytes.Equal(memory, want) {
						t.Errorf("memory\n%x\nwant\n%x", memory, want)
					}
					if _, err := w.Window(0, 1, 0); !refusedAs(err, errGone) {
						t.Errorf("a window of what is gone: %v", err)
					}
					var te *rdmap.TerminateError
					if _, err := m.ReadAt(p, 0); !errors.As(err, &te) || !te.Remote {
						t.Errorf("ReadAt of what is gone: %v, want the peer's Terminate", err)
					}
				})
			})
		}
	}
}

func TestWindowErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, _ := simPair(t, simtoe.Config{}, side{}, side{})
		r := register(t, ci, make([]byte, 64), ddp.RemoteRead|ddp.RemoteAtomic)
		gone := register(t, ci, make([]byte, 64), everyAccess)
		gone.Deregister()
		for _, tt := range []struct {
			desc   string
			r      extsock.Region
			off, n int
			access ddp.Access
			want   error
		}{
			{"inside", r, 8, 56, ddp.RemoteRead | ddp.RemoteAtomic, nil},
			{"misaligned, without atomics", r, 3, 8, ddp.RemoteRead, nil},
			{"misaligned, with atomics", r, 3, 8, ddp.RemoteAtomic, ddp.ErrMisaligned},
			{"across the end", r, 8, 57, ddp.RemoteRead, errOutside},
			{"before the start", r, -8, 8, ddp.RemoteRead, errOutside},
			{"nothing", r, 8, 0, ddp.RemoteRead, errOutside},
			{"a right that the Region has not", r, 8, 8, ddp.RemoteRead | ddp.RemoteWrite, errDenied},
			{"of a Region that is gone", gone, 8, 8, ddp.RemoteRead, errGone},
		} {
			if _, err := tt.r.Window(tt.off, tt.n, tt.access); !refusedAs(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.desc, err, tt.want)
			}
		}
	})
}

// TestHostileWindowUse: a peer that knows the STags and TOs of a window and of its Region has with
// each of them only its own rights. The right Terminate comes, and nothing is placed.
func TestHostileWindowUse(t *testing.T) {
	const off, n = 16, 24 // of 64
	type names struct{ r, w, readable extsock.Region }
	tests := []struct {
		desc               string
		layer, etype, code uint8
		ulpdu              func(x names) []byte
	}{
		{"Write, one octet before", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO-1) }},
		{"Write, just before", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO-4) }},
		{"Write, where the Region would begin", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO-off) }},
		{"Write, one octet behind", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO+n-3) }},
		{"Write, just behind", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO+n) }},
		{"Write, TO wraps", 1, 1, 3, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, 1<<64-2) }},
		{"Write, the Region's TO", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.w.Handle().STag, x.r.Handle().TO+off) }},
		{"Write, the window's TO in the Region", 1, 1, 1, func(x names) []byte { return tagged(rdmap.OpWrite, x.r.Handle().STag, x.w.Handle().TO) }},
		{"Write, to a window without the right", 1, 1, 0, func(x names) []byte {
			return tagged(rdmap.OpWrite, x.readable.Handle().STag, x.readable.Handle().TO)
		}},
		{"Read, without the right", 0, 1, 2, func(x names) []byte { return readRequest(x.w.Handle().STag, x.w.Handle().TO, 4) }},
		{"Read, one octet before", 0, 1, 1, func(x names) []byte { return readRequest(x.readable.Handle().STag, x.readable.Handle().TO-1, 4) }},
		{"Read, one octet behind", 0, 1, 1, func(x names) []byte { return readRequest(x.readable.Handle().STag, x.readable.Handle().TO, n+1) }},
		{"Read, the whole Region", 0, 1, 1, func(x names) []byte { return readRequest(x.readable.Handle().STag, x.r.Handle().TO, 64) }},
		{"Write, to a window that is gone", 1, 1, 0, func(x names) []byte {
			x.w.Deregister()
			return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO)
		}},
		{"Write, to a window whose Region is gone", 1, 1, 0, func(x names) []byte {
			x.r.Deregister()
			return tagged(rdmap.OpWrite, x.w.Handle().STag, x.w.Handle().TO)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				memory := bytes.Repeat([]byte{0xaa}, 64)
				p, c := rawPair(t, extsock.Config{}, nil)
				x := names{r: register(t, c, memory, ddp.RemoteRead|ddp.RemoteWrite)}
				x.w, x.readable = window(t, x.r, off, n, ddp.RemoteWrite), window(t, x.r, off, n, ddp.RemoteRead)
				p.send(tt.ulpdu(x)...)
				p.wantTerminate(tt.layer, tt.etype, tt.code)
				if !bytes.Equal(memory, bytes.Repeat([]byte{0xaa}, 64)) {
					t.Errorf("memory changed: %x", memory)
				}
			})
		})
	}
}

// TestWindowOfAnotherConnection: a window belongs to one connection, as its Region does.
func TestWindowOfAnotherConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := extsock.Config{Domain: new(ddp.Domain)}
		_, owner := rawPair(t, cfg, nil)
		p, _ := rawPair(t, cfg, nil)
		memory := make([]byte, 64)
		w := window(t, register(t, owner, memory, ddp.RemoteWrite), 8, 8, ddp.RemoteWrite)
		p.send(tagged(rdmap.OpWrite, w.Handle().STag, w.Handle().TO)...)
		p.wantTerminate(1, 1, 2)
		if !bytes.Equal(memory, make([]byte, 64)) {
			t.Error("memory of another connection was written")
		}
	})
}

// TestCloseTakesWindowsBack: nothing is registered after Close.
func TestCloseTakesWindowsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		domain := new(ddp.Domain)
		ci, _ := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Domain: domain}}, side{})
		r := register(t, ci, make([]byte, 64), everyAccess)
		w := window(t, r, 8, 8, everyAccess)
		if err := ci.Close(); err != nil {
			t.Error(err)
		}
		for _, x := range []extsock.Region{r, w} {
			if err := domain.Invalidate(x.Handle().STag, 0); !refusedAs(err, errGone) {
				t.Errorf("STag %v after Close: %v", x.Handle().STag, err)
			}
		}
		if _, err := r.Window(0, 8, 0); !refusedAs(err, errGone) {
			t.Errorf("Window after Close: %v", err)
		}
	})
}

// TestRevocationRacesPlacement: the peer writes through a window, one Write after the other, while
// the window is revoked. When Deregister has returned, only the application uses the memory: not
// one octet changes, and the race detector finds no race.
func TestRevocationRacesPlacement(t *testing.T) {
	for _, tt := range []struct {
		desc   string
		revoke func(r, w, inner extsock.Region)
	}{
		{"the window", func(_, w, _ extsock.Region) { w.Deregister() }},
		{"the Region", func(r, _, _ extsock.Region) { r.Deregister() }},
		{"all at once", func(r, w, inner extsock.Region) {
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(w.Deregister)
			wg.Go(inner.Deregister)
			r.Deregister()
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			for range 5 {
				ci, cr := tcpPair(t, side{}, side{})
				memory := make([]byte, 192<<10)
				r := register(t, cr, memory, ddp.RemoteWrite)
				w := window(t, r, 64<<10, 64<<10, ddp.RemoteWrite)
				inner := window(t, w, 32<<10, 32<<10, ddp.RemoteWrite)
				arrived := make(chan struct{}, 1)
				var wg sync.WaitGroup
				for _, x := range []extsock.Region{w, inner} {
					wg.Go(func() {
						m, p := ci.Remote(x.Handle()), bytes.Repeat([]byte{0xff}, int(x.Handle().Len))
						for n := 0; ; n++ {
							if _, err := m.WriteAt(p, 0); err != nil {
								return // by the Terminate, or TCP's reset
							}
							if n == 3 {
								select {
								case arrived <- struct{}{}:
								default:
								}
							}
						}
					})
				}
				<-arrived
				tt.revoke(r, w, inner)
				for i := range memory[64<<10 : 128<<10] {
					memory[64<<10+i] = byte(i)
				}
				wg.Wait() // the writers have got their errors
				cr.Close()
				for i, b := range memory {
					want := byte(0)
					if i >= 64<<10 && i < 128<<10 {
						want = byte(i)
					}
					if b != want {
						t.Fatalf("octet %d is %#x, want %#x", i, b, want)
					}
				}
				ci.Close()
			}
		})
	}
}

// Errors that refusedAs compares by Code and Denied.
var (
	errGone    error = &ddp.AccessError{Code: ddp.CodeInvalidSTag}
	errDenied  error = &ddp.AccessError{Code: ddp.CodeInvalidSTag, Denied: true}
	errOutside error = &ddp.AccessError{Code: ddp.CodeBounds}
)

// refusedAs reports whether err is want, or an access error of the same kind.
func refusedAs(err, want error) bool {
	w, ok := want.(*ddp.AccessError)
	if !ok {
		return errors.Is(err, want)
	}
	var e *ddp.AccessError
	return errors.As(err, &e) && e.Code == w.Code && e.Denied == w.Denied
}
