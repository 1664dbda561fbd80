package hostile_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// lossyStack is the Config of a TCP in user space for paths with faults. There gVisor's Reno has a
// tenth of the timeouts of its CUBIC.
var lossyStack = usertcp.Config{MinRTO: 5 * time.Millisecond, CongestionControl: "reno"}

// A memoryLink is a bad link in memory.
type memoryLink [2]*badlink.End

func (l memoryLink) Stats() (ab, ba badlink.Stats) { return l[0].Stats(), l[1].Stats() }

func (l memoryLink) setFaults(t *testing.T, f badlink.Faults) {
	t.Helper()
	for _, end := range l {
		if err := end.SetFaults(f); err != nil {
			t.Fatal(err)
		}
	}
}

// newMemoryNet makes two TCPs in user space with a bad link in memory between them, and a function
// that makes a connection.
func newMemoryNet(t *testing.T, cfg badlink.Config, stack usertcp.Config) (link memoryLink, pair scenario.Pairing) {
	t.Helper()
	a, b, err := badlink.Pipe(cfg)
	if err != nil {
		t.Fatal(err)
	}
	link = memoryLink{a, b}
	var stacks [2]*usertcp.Stack
	for i, address := range []string{"10.7.0.1/24", "10.7.0.2/24"} {
		stack.Addresses = []netip.Prefix{netip.MustParsePrefix(address)}
		if stacks[i], err = usertcp.New(link[i], stack); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stacks[i].Close() })
	}
	l, err := stacks[1].Listen(t.Context(), "tcp", "10.7.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return link, func() (a, b net.Conn, err error) {
		if a, err = stacks[0].Dial(context.Background(), "tcp", l.Addr().String()); err == nil {
			b, err = l.Accept()
		}
		return a, b, err
	}
}

// TestUserTCPInMemory moves 10^9 octets each way at the same time between two TCPs in user space,
// through a bad link in memory, and compares the SHA-256. It is attack T1.
//
// One connection alone moves 30 MB/s with packets of 1500 octets, and 5 MB/s with CUBIC: its TCP
// treats losses and late packets as congestion, so its window remains at a few packets, and the
// link holds a late packet for up to 2 ms if no others come. So there are several connections.
func TestUserTCPInMemory(t *testing.T) {
	octets := int64(testmode.Count(1e9, 1e6))
	for _, test := range []struct {
		form        string
		mtu         int
		move        scenario.LossyMove
		connections int
	}{
		{"stream", 1500, scenario.LossyStreams, 4}, {"write", 1500, scenario.LossyWrites, 8},
		{"write, long packets", usertcp.MaxMTU, scenario.LossyWrites, 8},
	} {
		t.Run(test.form, func(t *testing.T) {
			link, pair := newMemoryNet(t, badlink.Config{Seed: seeded(t).Uint64(), MTU: test.mtu}, lossyStack)
			connections := scenario.LossyPairs(t, pair, test.connections)
			link.setFaults(t, scenario.LossyFaults)
			scenario.MoveWantsSame(t, test.move, connections, octets)
			scenario.WantLossy(t, link)
			link.setFaults(t, badlink.Faults{}) // so that the connections close at once
		})
	}
}
