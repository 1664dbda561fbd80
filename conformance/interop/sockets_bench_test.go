//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSocketLatency prints how long RDMA Reads and Writes of 64 bytes take while the program
// that owns the memory does nothing, computes, collects garbage, or is stopped: p50 / p99 in
// microseconds. It runs each pair once.
func BenchmarkSocketLatency(b *testing.B) {
	s := newSocketStage(b)
	var table strings.Builder
	for _, pair := range [][2]place{{inProcess, inProcess}, {underRun, inProcess}, {underRun, underRun}, {joinedRun, joinedRun}, {overSiw, overSiw}, {overRxe, overRxe}} {
		b.Run(fmt.Sprintf("%s serves, %s asks", pair[0], pair[1]), func(b *testing.B) {
			ctx, cancel := context.WithTimeout(b.Context(), sessionLimit)
			defer cancel()
			l, d := s.begin(b, ctx, pair[0], pair[1], "latency 2000")
			for line := range strings.Lines(s.ends(b, d)) {
				if strings.Contains(line, " | ") {
					fmt.Fprintf(&table, "| %s | %s | %s |\n", pair[0], pair[1], strings.TrimSpace(line))
				}
			}
			l.kill(b)
			l.wait()
		})
	}
	b.Logf("p50 / p99 in µs\n| serves | asks | the program that serves is | Read | Write |\n| --- | --- | --- | --- | --- |\n%s", &table)
}
