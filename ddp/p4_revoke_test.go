package ddp

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// A placer is a stream of the peer's that writes to whatever STag is advertised, as fast as it can.
type placer struct {
	pair   *pair
	good   atomic.Int64 // segments that were placed
	over   atomic.Bool
	bad    int    // attempts that were refused
	failed string // what is wrong
}

// An advertisement is what the peer knows of a Region.
type advertisement struct {
	stag STag
	to   uint64
}

// run writes payload to offset off of what is advertised.
func (p *placer) run(ad *atomic.Pointer[advertisement], stop *atomic.Bool, payload []byte, off uint64) {
	defer p.over.Store(true)
	for !stop.Load() {
		runtime.Gosched() // the others are to have their turn, wherever this one is
		a := ad.Load()
		p.pair.place(append(TaggedHeader{Last: true, STag: a.stag, TO: a.to + off}.AppendTo(nil), payload...))
		if p.pair.r.Deliver(p.pair.off) {
			p.good.Add(1)
			continue
		}
		p.bad++
		if e, ok := p.pair.r.Err().(*Error); !ok || e.Type != TypeTagged || e.Code != CodeInvalidSTag {
			p.failed = "the error of a revoked STag is " + p.pair.r.Err().Error()
			return
		}
		p.pair.r.failed, p.pair.r.err, p.pair.r.tagged = failure{}, nil, taggedMessage{} // a new stream
	}
}

// TestP4_RevokeRaces has Regions revoked while four streams write to them: by Deregister, by the peer's
// Invalidate, and by Deregister of the Region that they are windows of. The owner then writes the memory;
// not one octet of that changes until the next Region is advertised.
//
// "An RNIC MUST ensure that network packets using the STag for a previously Advertised Buffer can no longer
// modify the buffer after the ULP revokes remote access rights" (RFC 5042 §6.2.2)
//
// SEC-5042-6.2.2-2, RDMAP-5040-8.1.1-7
func TestP4_RevokeRaces(t *testing.T) {
	domain := NewDomain(nil)
	memory := newGuarded(1024)
	var ad atomic.Pointer[advertisement]
	ad.Store(&advertisement{stag: 1})
	var stop atomic.Bool
	var wg sync.WaitGroup
	placers := make([]*placer, 4)
	for i := range placers {
		p := &placer{pair: newPairWith(t, func(c *ReceiverConfig) { c.Domain = domain })}
		placers[i] = p
		wg.Add(1)
		// Each writes to its own quarter, so that they do not race with each other.
		payload := bytes.Repeat([]byte{byte(i + 1)}, 256)
		go func() {
			defer wg.Done()
			p.run(&ad, &stop, payload, uint64(i)*256)
		}()
	}
	sum := func() (n int64) {
		for _, p := range placers {
			n += p.good.Load()
		}
		return n
	}
	rounds := of(1_000_000)
	changed, over := 0, false
	for i := range rounds {
		how := i % 3
		on := uint64(stream)
		if how == 2 {
			on = 0
		}
		r := register(t, domain, memory.mem, RemoteWrite, on)
		named := r
		if how == 2 {
			w, err := r.Window(0, r.Len(), RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			named = w
		}
		before := sum()
		ad.Store(&advertisement{stag: named.STag(), to: named.TO()})
		for sum() == before && !over { // the Region is in use when it is revoked
			runtime.Gosched()
			over = anyOver(placers)
		}
		if how == 1 {
			if err := domain.Invalidate(r.STag(), stream); err != nil {
				t.Errorf("Invalidate: %v", err)
			}
		} else {
			r.Deregister()
		}
		for k := range memory.mem { // the owner's alone again
			memory.mem[k] = guard
		}
		if i%64 == 0 {
			runtime.Gosched() // give late ones a chance
		}
		if !untouched(memory.mem) {
			changed++
		}
		if over || changed > 10 {
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	refused := 0
	for _, p := range placers {
		refused += p.bad
		if p.failed != "" {
			t.Error(p.failed)
		}
	}
	if changed > 0 || !memory.intact() {
		t.Errorf("memory changed after %d of %d revocations; guard octets intact: %t", changed, rounds, memory.intact())
	}
	t.Logf("%d revocations raced %d placements of 256 octets; %d were refused; 0 octets changed afterwards", rounds, sum(), refused)
}

func anyOver(placers []*placer) bool {
	for _, p := range placers {
		if p.over.Load() {
			return true
		}
	}
	return false
}
