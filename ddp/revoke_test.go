package ddp

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A placer is a stream of the peer's that writes to whatever STag is advertised, as fast as it can.
type placer struct {
	pair   *pair
	good   atomic.Int64 // segments that were placed
	over   atomic.Bool
	bad    int    // attempts that were refused
	failed string // the failure
}

// An advertisement is what the peer knows about a Region.
type advertisement struct {
	stag STag
	to   uint64
	n    uint64 // octets of the Region
}

// run writes one octet, its own, to its quarter of what is advertised.
func (p *placer) run(ad *atomic.Pointer[advertisement], stop *atomic.Bool, quarter uint64) {
	defer p.over.Store(true)
	segment := bytes.Repeat([]byte{byte(quarter + 1)}, TaggedHeaderLen+revokedMemory/4)
	for !stop.Load() {
		runtime.Gosched() // lets the other goroutines run
		a := ad.Load()
		TaggedHeader{Last: true, STag: a.stag, TO: a.to + quarter*a.n/4}.AppendTo(segment[:0])
		p.pair.r.Place(p.pair.off, segment[:TaggedHeaderLen+a.n/4])
		p.pair.off += fpduLen(segment)
		if p.pair.r.Deliver(p.pair.off) {
			p.good.Add(1)
			continue
		}
		p.bad++
		if e, ok := p.pair.r.Err().(*Error); !ok || e.Code != CodeInvalidSTag {
			p.failed = "the error of a revoked STag is " + p.pair.r.Err().Error()
			return
		}
		p.pair.r.failed, p.pair.r.err, p.pair.r.tagged = failure{}, nil, taggedMessage{} // a new stream
	}
}

// revokedMemory is the number of octets of the largest Region of TestRevokeRaces.
const revokedMemory = 1 << 20

// TestRevokeRaces revokes Regions while four streams write to them: by Deregister, by the peer's
// Invalidate, and by Deregister of the Region that they are windows of. The owner then writes the
// memory; not one octet of that changes until the next Region is advertised.
//
// "An RNIC MUST ensure that network packets using the STag for a previously Advertised Buffer can
// no longer modify the buffer after the ULP revokes remote access rights" (RFC 5042 §6.2.2)
//
// SEC-5042-6.2.2-2, RDMAP-5040-8.1.1-7
func TestRevokeRaces(t *testing.T) {
	domain := new(Domain)
	memory := newGuarded(revokedMemory)
	var ad atomic.Pointer[advertisement]
	ad.Store(&advertisement{stag: 1, n: 4})
	var stop atomic.Bool
	var wg sync.WaitGroup
	placers := make([]*placer, 4)
	for i := range placers {
		p := &placer{pair: newPairWith(t, func(c *ReceiverConfig) { c.Stream = NewStream(domain, stream) })}
		placers[i] = p
		wg.Add(1)
		go func() {
			defer wg.Done()
			p.run(&ad, &stop, uint64(i)) // its own quarter, so that they do not race with each other
		}()
	}
	sum := func() (n int64) {
		for _, p := range placers {
			n += p.good.Load()
		}
		return n
	}
	rounds := testmode.Cases(1_000_000)
	changed, over := 0, false
	for i := range rounds {
		how := i % 3
		on := uint64(stream)
		if how == 2 {
			on = 0
		}
		mem := memory.mem[:1024:1024]
		if i%64 < 3 {
			mem = memory.mem // large, so that a copy is likely to be in progress
		}
		r := register(t, domain, mem, RemoteWrite, on)
		named := r
		if how == 2 {
			w, err := r.Window(0, r.Len(), RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			named = w
		}
		before := sum()
		ad.Store(&advertisement{stag: named.STag(), to: named.TO(), n: uint64(len(mem))})
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
		// The memory belongs to the owner alone again. The owner writes the ends of the parts that
		// the streams write, where a copy still in progress would write last, and gives late copies
		// a moment.
		for end := len(mem) / 4; end <= len(mem); end += len(mem) / 4 {
			for k := end - 64; k < end; k++ {
				mem[k] = guard
			}
		}
		if len(mem) > 1024 || i%64 == 0 {
			for range 4 {
				runtime.Gosched()
			}
		}
		for end := len(mem) / 4; end <= len(mem); end += len(mem) / 4 {
			if !untouched(mem[end-64 : end]) {
				changed++
			}
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
	t.Logf("%d revocations raced %d placements; %d were refused; 0 octets changed afterwards", rounds, sum(), refused)
}

func anyOver(placers []*placer) bool {
	for _, p := range placers {
		if p.over.Load() {
			return true
		}
	}
	return false
}
