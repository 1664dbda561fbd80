package pcapng

import (
	"io"
	"net"
	"testing"
)

func flowBetween(w *Writer, port int) *Flow {
	return w.Flow(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 80}, true)
}

// TestPairsAreForgotten: a Writer keeps the pairs of open Flows and of those that ended last, and
// gives none of these pairs to another Flow.
func TestPairsAreForgotten(t *testing.T) {
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	open := flowBetween(w, 1)
	for round := range 3 {
		for port := 2; port < 5000; port++ {
			f := flowBetween(w, port)
			if got := int(f.local.addr.Port()); got != port {
				t.Fatalf("round %d: port %d was replaced by %d", round, port, got)
			}
			again := flowBetween(w, port) // the other end of the same connection
			if again.pair() == f.pair() {
				t.Fatalf("two Flows between port %d and the server have the same pair", port)
			}
			f.Closed()
			again.Stop()
		}
	}
	if n, most := len(w.used), 1+recentPairs; n > most { // +checklocksignore: nobody else has it
		t.Errorf("%d pairs are kept, want at most %d", n, most)
	}
	if f := flowBetween(w, 1); f.pair() == open.pair() {
		t.Error("the pair of a Flow that is open was given to another one")
	}
}

// TestCrowdedPairs: a Flow that finds no free port begins after a few tries anyway.
func TestCrowdedPairs(t *testing.T) {
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	flows := make([]*Flow, 1<<16-madeUpPorts+10)
	for i := range flows {
		flows[i] = flowBetween(w, 1)
	}
	for _, f := range flows {
		f.Closed()
	}
	if n := len(w.used); n > 1<<16-madeUpPorts+1 { // +checklocksignore: nobody else has it
		t.Errorf("%d pairs", n)
	}
}
