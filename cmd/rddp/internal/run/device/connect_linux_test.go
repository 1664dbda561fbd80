//go:build amd64 || arm64

package device

import (
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/guest"
)

// TestExpect: the device does not connect a queue pair that a connection manager connects, though the program joins it.
func TestExpect(t *testing.T) {
	p := newProgram(t, newDevice(t))
	dials := func(peer uint32) bool {
		qp := p.qp(nil)
		for _, s := range []uint8{guest.Init, guest.RTR} {
			if err := qp.Modify(s, p.gid, peer, nil); err != nil {
				t.Fatal(err)
			}
		}
		q := p.dev.find(qp.Num)
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.stopDial != nil
	}
	const peer = 1<<24 - 1 // a QPN higher than any other, so this end dials
	first, second := p.dev.Expect(localhost, peer), p.dev.Expect(localhost, peer)
	if dials(peer) {
		t.Error("it dials a peer that a connection manager expects")
	}
	if !dials(peer - 1) {
		t.Error("it does not dial another one")
	}
	first()
	if dials(peer) {
		t.Error("it dials a peer that is expected once more")
	}
	second()
	if !dials(peer) {
		t.Error("it does not dial a peer that nobody expects")
	}
}
