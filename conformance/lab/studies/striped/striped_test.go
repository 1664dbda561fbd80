package main

import (
	"testing"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain is also the program of the processes that a trial starts.
func TestMain(m *testing.M) {
	if harness.IsPart() {
		main()
		return
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// TestPiecesComeBack: with each pattern, clients read back the bytes that they have written and
// check them, and each operation moves all its bytes.
func TestPiecesComeBack(t *testing.T) {
	for _, way := range ways {
		for _, pattern := range patterns {
			for _, write := range []bool{false, true} {
				const servers, clients, count = 3, 2, 2
				trial := trial{Way: way, Pattern: pattern, Write: write, Servers: servers, Clients: clients, Piece: 16 << 10, Count: count, Seed: 1}
				o, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := clients * count * listLen
				if pattern == contiguous {
					want = clients * count * servers * perNode
				}
				if o.Bytes != want {
					t.Errorf("%s, %s, write %v: %d bytes, want %d", way, pattern, write, o.Bytes, want)
				}
			}
		}
	}
}

// TestLists: the lists of all clients are disjoint, within the file, and complete after a split.
func TestLists(t *testing.T) {
	for _, pattern := range patterns {
		for _, servers := range []int{1, 3, 8} {
			owner := make(map[int64]int) // by block of 512 bytes
			for client := range 4 {
				l := newLayout(trial{Pattern: pattern, Servers: servers, Clients: 4, Piece: 4 << 10, Seed: 1}, client)
				list, sum := l.next(), 0
				for _, p := range list {
					for at := p.off; at < p.off+int64(len(p.memory)); at += 512 {
						if other, taken := owner[at]; taken || at >= fileLen {
							t.Fatalf("%s: clients %d and %d have the bytes at %d of %d", pattern, other, client, at, fileLen)
						}
						owner[at] = client
					}
					sum += len(p.memory)
				}
				split := split(list, servers)
				for s := range split {
					for i := range split[s] {
						sum -= split[s][i].len()
					}
				}
				if sum != 0 {
					t.Errorf("%s, %d servers: %d bytes were lost", pattern, servers, sum)
				}
			}
		}
	}
}

// TestSplit: adjacent ranges in a server's file form one extent with several pieces of memory.
func TestSplit(t *testing.T) {
	memory := make([]byte, 3*stripe)
	got := split([]piece{{stripe / 2, memory[:2*stripe]}}, 2)
	if len(got[0]) != 1 || got[0][0].off != stripe/2 || len(got[0][0].memory) != 2 || got[0][0].len() != stripe {
		t.Errorf("the first server has %d extents", len(got[0]))
	}
	if len(got[1]) != 1 || got[1][0].off != 0 || got[1][0].len() != stripe {
		t.Errorf("the second server has %d extents", len(got[1]))
	}
}
