//go:build interop

package interop

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkSocketLatency prints how long RDMA Reads of 64 bytes take while the program whose memory it
// is does nothing, computes, collects garbage, or is stopped. It runs each pair once.
func BenchmarkSocketLatency(b *testing.B) {
	s := newSocketStage(b)
	for _, pair := range [][2]place{{inProcess, inProcess}, {underRun, inProcess}, {underRun, underRun}, {joinedRun, joinedRun}, {overSiw, overSiw}, {overRxe, overRxe}} {
		b.Run(fmt.Sprintf("%s serves, %s reads", pair[0], pair[1]), func(b *testing.B) {
			ctx, cancel := context.WithTimeout(b.Context(), verbsLimit)
			defer cancel()
			l, d := s.begin(b, ctx, pair[0], pair[1], "latency 2000")
			b.Log(s.ends(b, d))
			l.kill(b)
			l.wait()
		})
	}
}
