package hostile_test

import (
	"testing"

	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/badlink"
)

// TestUserTCPAgainstKernel moves 10^9 octets each way at the same time between a TCP in user space
// and the kernel's, through a path with faults in both directions, as byte streams and by RDMA
// Writes, and compares the SHA-256. It is attack T8.
func TestUserTCPAgainstKernel(t *testing.T) {
	octets := int64(testmode.Count(1e9, 1e6))
	for n, test := range []struct {
		form        string
		move        scenario.LossyMove
		connections int
	}{
		{"stream", scenario.LossyStreams, 4}, {"write", scenario.LossyWrites, 8},
	} {
		t.Run(test.form, func(t *testing.T) {
			x := newUserNet(t, lossyStack, badlink.Config{Seed: seeded(t).Uint64()})
			connections := scenario.LossyPairs(t, x.pairs(t, n == 1, n), test.connections)
			if err := x.link.SetFaults(scenario.LossyFaults, scenario.LossyFaults); err != nil {
				t.Fatal(err)
			}
			scenario.MoveWantsSame(t, test.move, connections, octets)
			scenario.WantLossy(t, x.link)
			t.Logf("early: %+v", x.user.EarlyStats())
			if err := x.link.SetFaults(badlink.Faults{}, badlink.Faults{}); err != nil { // so that the connections close at once
				t.Fatal(err)
			}
			x.wantNoResets(t)
		})
	}
}
