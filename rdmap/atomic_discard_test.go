package rdmap

import (
	"testing"

	"github.com/rddp/rddp/ddp"
)

// TestAtomicOfADiscardedStream: an atomic that is performed after [ddp.Domain.Discard] changes nothing, whether
// it has arrived before or after. It is no error, and those of other streams go on.
func TestAtomicOfADiscardedStream(t *testing.T) {
	domain := new(ddp.Domain)
	x := newPair(t, params{domain: domain})
	region, err := domain.Register(make([]byte, 8), ddp.RemoteAtomic, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(s *side) {
		t.Helper()
		s.post(WorkRequest{Op: WorkFetchAdd, Operand: 1, Remote: handle(region)})
		x.run()
		wantDone(t, "an atomic", s.sendCQ, "0 success")
	}
	word := func(want uint64, desc string) {
		t.Helper()
		if got, err := load64(region, 0); got != want || err != nil {
			t.Errorf("%s: the word is %d, want %d; error %v", desc, got, want, err)
		}
	}
	add(x.a)
	word(1, "before")
	x.a.post(WorkRequest{Op: WorkFetchAdd, Operand: 1, Remote: handle(region)})
	x.a.transmit()
	x.b.receive()
	forget := domain.Discard(x.b.stream())
	x.run()
	wantDone(t, "an atomic that waits for its turn", x.a.sendCQ, "0 success")
	word(1, "one that waited for its turn")
	add(x.a)
	word(1, "one that came later")
	add(x.b)
	word(2, "one of another stream of the Domain")
	forget()
	add(x.a)
	word(3, "one of a stream with the same number")
}
