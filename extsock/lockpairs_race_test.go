//go:build race

package extsock_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestLockPairsOfAnEcho counts how often locks are locked and unlocked for an echo of 64 octets.
// Both ends do the same, a Write and a Read, so half of the pairs are those of one end. The locks
// of the simulator take the place of the operating system's TCP and are left out. Only race builds
// count locks.
func TestLockPairsOfAnEcho(t *testing.T) {
	alone(t)
	for _, tt := range []struct {
		desc string
		side side
		most float64 // pairs at each end; more is a regression
	}{
		{"message mode", inMessages, 5},
		{"byte stream", side{}, 8},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simPair(t, simtoe.Config{}, tt.side, tt.side)
				const rounds = 1000
				echoes(t, a, b, rounds) // the first ones settle who receives
				before := locks.Counts()
				echoes(t, a, b, rounds)
				after := locks.Counts()
				a.Close()
				b.Close()
				time.Sleep(time.Minute) // of the bubble: all goroutines of the connections end
				pairs := make(map[string]float64)
				sum := 0.0
				for name, n := range after {
					if n -= before[name]; n > 0 && name != "Simulator" {
						pairs[name] = float64(n) / (2 * rounds)
						sum += pairs[name]
					}
				}
				t.Logf("%.2f lock pairs at each end of an echo:%s", sum, breakdown(pairs))
				if sum > tt.most {
					t.Errorf("%.2f lock pairs at each end of an echo, want at most %.2f", sum, tt.most)
				}
			})
		})
	}
}

// echoes sends n messages from a, one after the other, and b answers each.
func echoes(t *testing.T, a, b io.ReadWriter, n int) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- echoEnd(b, n, false) }()
	if err := echoEnd(a, n, true); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// echoEnd is one end of echoes: first writes before it reads.
func echoEnd(c io.ReadWriter, n int, first bool) error {
	var p [64]byte
	for range n {
		if first {
			if _, err := c.Write(p[:]); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(c, p[:]); err != nil {
			return err
		}
		if !first {
			if _, err := c.Write(p[:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// breakdown lists the pairs by rank, the most first.
func breakdown(pairs map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(pairs), func(x, y string) int {
		return cmp.Or(cmp.Compare(pairs[y], pairs[x]), strings.Compare(x, y))
	})
	var s strings.Builder
	for _, name := range names {
		fmt.Fprintf(&s, " %s %.2f", name, pairs[name])
	}
	return s.String()
}
