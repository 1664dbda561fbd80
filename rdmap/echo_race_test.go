//go:build race

package rdmap

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/locks"
)

// TestLockPairsOfAnEcho counts how often each end locks and unlocks for a message of its own and
// one of its peer. With posted receives and a completion queue that is a ring, there are 14 pairs:
// 5 of the QP, 1 of PostRecv, 4 of DDP's Queue and 4 of completion queues. With Bind, Receive,
// PostNext and a completion queue of depth 1 there are 2: PostNext and Sent lock the QP. Only race
// builds count locks.
func TestLockPairsOfAnEcho(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		posts bool
		depth int // of the sender's completion queue
		want  map[string]float64
	}{
		{"posted", true, 2, map[string]float64{"QP": 5, "PostRecv": 1, "Queue": 4, "Completions": 4}},
		{"bound", false, 1, map[string]float64{"QP": 2}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			e := newEcho(t, tt.posts, tt.depth)
			const rounds = 100
			before := locks.Counts()
			for range rounds {
				e.carry(e.a, e.b, echoData)
				e.carry(e.b, e.a, echoData)
			}
			got := map[string]float64{}
			for name, n := range locks.Counts() {
				if n -= before[name]; n > 0 {
					got[name] = float64(n) / (2 * rounds)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("lock pairs at each end: %v, want %v", got, tt.want)
			}
		})
	}
}
