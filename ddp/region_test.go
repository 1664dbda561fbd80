package ddp

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

func kinds(err error) []accessCheck {
	var e *AccessError
	if errors.As(err, &e) {
		return []accessCheck{checkOf(e)}
	}
	return nil
}

// The checks are made in a fixed order: if two fail, the first one is reported.
func TestCheckOrder(t *testing.T) {
	d := new(Domain)
	r := register(t, d, make([]byte, 8), RemoteRead, stream)
	tests := []struct {
		desc   string
		s      STag
		to, n  uint64
		need   Access
		stream uint64
		want   accessCheck
	}{
		{"unknown, before all", r.STag() + 1, math.MaxUint64, 2, RemoteWrite, 1, checkInvalidSTag},
		{"of another stream, before rights", r.STag(), math.MaxUint64, 2, RemoteWrite, 1, checkNotAssociated},
		{"rights, before wrap", r.STag(), math.MaxUint64, 2, RemoteWrite, stream, checkAccess},
		{"wrap, before bounds", r.STag(), math.MaxUint64, 2, RemoteRead, stream, checkWrap},
		{"a sum of 2^64 wraps", r.STag(), math.MaxUint64, 1, RemoteRead, stream, checkWrap},
		{"a sum of 2^64-1 does not", r.STag(), math.MaxUint64 - 1, 1, RemoteRead, stream, checkBounds},
	}
	for _, tt := range tests {
		_, err := d.Check(tt.s, tt.to, tt.n, tt.need, tt.stream)
		if got := kinds(err); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %v, want %v", tt.desc, err, tt.want)
		}
	}
}

func TestDeregister(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 64), RemoteWrite|RemoteAtomic)
	again := p.register(r.Bytes(), RemoteWrite) // the same memory under another name
	r.Deregister()
	r.Deregister()
	if _, err := p.domain.Check(r.STag(), r.TO(), 1, 0, stream); fmt.Sprint(kinds(err)) != fmt.Sprint([]accessCheck{checkInvalidSTag}) {
		t.Errorf("Check = %v, want an invalid STag", err)
	}
	if _, err := r.Update64(0, func(uint64) uint64 { return 1 }); fmt.Sprint(kinds(err)) != fmt.Sprint([]accessCheck{checkInvalidSTag}) {
		t.Errorf("Update64 = %v, want an invalid STag", err)
	}
	if _, err := r.Load64(0); err == nil {
		t.Error("Load64 works on")
	}
	if err := r.Store64(0, 1); err == nil {
		t.Error("Store64 works on")
	}
	p.send(write(again, 0, []byte{1}), 128)
	p.wantMessage("a Write to the other Region")
	// Deregistering an old Region must not take away a new one that has drawn its STag.
	p.move(again, r.stag, again.base)
	r.Deregister()
	if _, err := p.domain.Check(again.STag(), again.TO(), 1, RemoteWrite, stream); err != nil {
		t.Errorf("Check of the Region that has the STag now: %v", err)
	}
}

// "An RNIC MUST ensure that the network interface can no longer modify an Advertised Buffer after
// the ULP revokes remote access rights for an STag." Peers write while the application deregisters
// and then uses the memory itself: the race detector sees it if one octet comes late, and so does
// the application. DDP-5041-8.3.1-7 SEC-5042-6.2.2-2
func TestRFC5041_8_3_1_NoChangeAfterRevocation(t *testing.T) {
	const rounds, streams = 200, 3
	domain := new(Domain)
	for range rounds {
		mem := make([]byte, 4096)
		r := register(t, domain, mem, RemoteWrite, 0)
		var placed atomic.Int64
		var revoked atomic.Bool
		var wg sync.WaitGroup
		for n := range streams {
			wg.Add(1)
			go func() {
				defer wg.Done()
				// Each stream has octets of its own; the application waits for none of them.
				m := write(r, uint64(n*1024), make([]byte, 1024))
				for i := range m.Payload[0] {
					m.Payload[0][i] = 0xFF
				}
				// Two more turns when the access is over: they begin after Deregister has returned.
				for left := 2; left > 0; {
					if revoked.Load() {
						left--
					}
					p := &pair{TB: t, r: NewReceiver(ReceiverConfig{Stream: NewStream(domain, 1)})}
					for range 10 {
						p.send(m, 300)
					}
					for p.r.Deliver(p.off) {
						placed.Add(1)
					}
				}
			}()
		}
		prototest.Wait(t, "a Write", func() bool { return placed.Load() > 0 })
		if n := rand.IntN(3); n > 0 {
			domain.Invalidate(r.STag(), 1) // refused: the Region is every stream's
		}
		r.Deregister()
		for i := range mem {
			mem[i] = guard
		}
		revoked.Store(true)
		wg.Wait()
		if !untouched(mem) {
			t.Fatal("memory changed after Deregister had returned")
		}
	}
}

// A peer can't invalidate an STag that several streams share, nor one of another stream.
// RDMAP-5040-8.1.1-8 SEC-5042-6.4.5-2
func TestInvalidate(t *testing.T) {
	d := new(Domain)
	mem := make([]byte, 8)
	gone := register(t, d, mem, RemoteWrite, stream)
	gone.Deregister()
	tests := []struct {
		desc string
		s    STag
		want error
	}{
		{"of this stream", register(t, d, mem, RemoteWrite, stream).STag(), nil},
		{"of this stream, no rights", register(t, d, mem, 0, stream).STag(), nil},
		{"never registered", 0, errInvalid},
		{"already invalid", gone.STag(), errInvalid},
		{"of another stream", register(t, d, mem, RemoteWrite, stream+1).STag(), errOtherStream},
		{"of all streams", register(t, d, mem, RemoteWrite, 0).STag(), errNotInvalidatable},
		{"of another Domain", register(t, new(Domain), mem, RemoteWrite, stream).STag(), errInvalid},
		{"sink of a Read", register(t, d, mem, ReadSink, stream).STag(), errNotInvalidatable},
	}
	for _, tt := range tests {
		r := d.lookup(tt.s)
		if err := d.Invalidate(tt.s, stream); !isError(err, tt.want) {
			t.Errorf("%s: Invalidate = %v, want %v", tt.desc, err, tt.want)
		}
		if r != nil && (d.lookup(tt.s) == nil) != (tt.want == nil) {
			t.Errorf("%s: STag valid afterwards: %t", tt.desc, d.lookup(tt.s) != nil)
		}
	}
}

// TestZeroRegion: the zero Region grants nothing, and has no windows.
func TestZeroRegion(t *testing.T) {
	r := new(Region)
	var access *AccessError
	if _, err := r.Window(0, 1, 0); !errors.As(err, &access) || access.Code != CodeInvalidSTag {
		t.Errorf("Window = %v", err)
	}
	if _, err := r.Update64(0, func(v uint64) uint64 { return v }); !errors.As(err, &access) {
		t.Errorf("Update64 = %v", err)
	}
	if err := r.Store(0, []byte{1}); !errors.As(err, &access) {
		t.Errorf("Store = %v", err)
	}
	r.Deregister()
}
