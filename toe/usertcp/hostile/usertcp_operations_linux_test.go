package hostile_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// A userCase is one session between a TCP in user space and the kernel's.
type userCase struct {
	session     *scenario.Session
	kernelDials bool
	version     int // 0 is IPv4, 1 is IPv6
	markers     bool
}

func (c userCase) String() string {
	return fmt.Sprintf("%s, the kernel dials: %t, IPv%d, markers: %t", c.session.Name, c.kernelDials, 4+2*c.version, c.markers)
}

// userCases returns every session in every variant.
func userCases() (list []userCase) {
	all := append([]scenario.Session{scenario.Solicited}, scenario.Sessions...)
	for i := range all {
		for n := range 8 {
			list = append(list, userCase{all[i].Patient(), n&1 != 0, n >> 1 & 1, n&4 != 0})
		}
	}
	return list
}

// run runs the session on a connection between the two ends a and b; a dialed. The TCP in user
// space needs Markers for early placement, so it does not place early without them.
func (c userCase) run(a, b net.Conn) error {
	cfg := c.session.Config
	cfg.Markers, cfg.NoEarlyPlacement = c.markers, !c.markers
	i, r := extsock.NewConn(a, true, &cfg), extsock.NewConn(b, false, &cfg)
	done := make(chan error, 1)
	go func() { done <- c.session.RunOn(r, false) }()
	if err := errors.Join(c.session.RunOn(i, true), <-done); err != nil {
		return fmt.Errorf("%v: %w", c, err)
	}
	for _, x := range []*extsock.Conn{i, r} {
		if s := x.ConnectionState(); s.SendsMarkers != c.markers || s.ReceivesMarkers != c.markers || !s.CRC {
			return fmt.Errorf("%v: %+v", c, s)
		}
	}
	return nil
}

// TestUserTCPOperations runs sessions with every operation between a TCP in user space and the
// kernel's, each in both roles, over IPv4 and IPv6, with and without Markers, on a perfect path and
// on one with faults.
func TestUserTCPOperations(t *testing.T) {
	cases := userCases()
	for _, path := range []struct {
		desc   string
		faults badlink.Faults
	}{{"perfect", badlink.Faults{}}, {"lossy", scenario.LossyFaults}} {
		t.Run(path.desc, func(t *testing.T) {
			x := newUserNet(t, usertcp.Config{}, badlink.Config{Seed: seeded(t).Uint64()})
			var pairs [2][2]scenario.Pairing
			for i := range 4 {
				pairs[i&1][i>>1] = x.pairs(t, i&1 != 0, i>>1)
			}
			rounds := testmode.Count(20, 1)
			for range rounds {
				x.runCases(t, cases, &pairs, path.faults)
			}
			t.Logf("%d sessions", rounds*len(cases))
			x.wantNoResets(t)
		})
	}
}

// runCases runs all cases at the same time. The connections are made before there are faults,
// because a lost SYN costs a second.
func (x *userNet) runCases(t *testing.T, cases []userCase, pairs *[2][2]scenario.Pairing, faults badlink.Faults) {
	t.Helper()
	var ends [][2]net.Conn
	for _, c := range cases {
		kernelDials := 0
		if c.kernelDials {
			kernelDials = 1
		}
		a, b, err := pairs[kernelDials][c.version]()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, [2]net.Conn{a, b})
	}
	if err := x.link.SetFaults(faults, faults); err != nil {
		t.Fatal(err)
	}
	prototest.InGoroutines(len(cases), len(cases), func(i int) {
		if err := cases[i].run(ends[i][0], ends[i][1]); err != nil {
			t.Error(err)
		}
	})
	if err := x.link.SetFaults(badlink.Faults{}, badlink.Faults{}); err != nil {
		t.Fatal(err)
	}
}

// TestUserTCPTerminate: an RDMA Write to an STag that does not exist ends in a Terminate, which
// both ends report.
func TestUserTCPTerminate(t *testing.T) {
	x := newUserNet(t, usertcp.Config{}, badlink.Config{})
	for n := range 4 {
		kernelDials, version := n&1 != 0, n>>1
		t.Run(fmt.Sprintf("kernel dials %t, IPv%d", kernelDials, 4+2*version), func(t *testing.T) {
			a, b, err := x.pairs(t, kernelDials, version)()
			if err != nil {
				t.Fatal(err)
			}
			cfg := &extsock.Config{Messages: true, BadSTagDelay: -1}
			i, r := extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)
			if err := scenario.SwitchEnds(t, i, r); err != nil {
				t.Fatal(err)
			}
			memory := make([]byte, 64)
			region, err := r.Register(memory, ddp.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			bad := region.Handle()
			bad.STag ^= 0x100
			if err := i.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: scenario.Pattern(scenario.InMemory, 64), Remote: bad}); err != nil {
				t.Fatal(err)
			}
			const badSTag = rdmap.TerminateCode(0x1100) // DDP, Tagged Buffer, Invalid STag
			for end, c := range []*extsock.Conn{i, r} {
				c.SetReadDeadline(time.Now().Add(scenario.SessionLimit))
				_, err := c.Read(make([]byte, 1))
				var te *rdmap.TerminateError
				if !errors.As(err, &te) || te.Terminate.Code != badSTag || te.Remote != (end == 0) {
					t.Errorf("Read = %v, want a Terminate for an invalid STag", err)
				}
			}
			if !bytes.Equal(memory, make([]byte, 64)) {
				t.Error("the Write was placed")
			}
		})
	}
}

// TestUserTCPEarlyPlacement writes to memory behind a TCP in user space, over a path with faults.
// With early placement that end places FPDUs early, and the memory is the same as without it.
func TestUserTCPEarlyPlacement(t *testing.T) {
	octets := int64(testmode.Count(1e8, 1e6))
	ways := []int{0, 3, 5, 6} // all pairs of values of any two of the three parameters
	if testmode.Full {
		ways = []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	for _, n := range ways {
		kernelDials, version, early := n&1 != 0, n>>1&1, n&4 == 0
		t.Run(fmt.Sprintf("kernel dials %t, IPv%d, early %t", kernelDials, 4+2*version, early), func(t *testing.T) {
			x := newUserNet(t, usertcp.Config{}, badlink.Config{Seed: seeded(t).Uint64()})
			a, b, err := x.pairs(t, kernelDials, version)()
			if err != nil {
				t.Fatal(err)
			}
			from, to := b, a
			if kernelDials {
				from, to = a, b
			}
			sender := extsock.NewConn(from, kernelDials, &extsock.Config{CloseTimeout: time.Minute})
			receiver := extsock.NewConn(to, !kernelDials, &extsock.Config{CloseTimeout: time.Minute, Markers: early, NoEarlyPlacement: !early})
			if err := scenario.SwitchEnds(t, sender, receiver); err != nil {
				t.Fatal(err)
			}
			if err := x.link.SetFaults(scenario.LossyFaults, scenario.LossyFaults); err != nil {
				t.Fatal(err)
			}
			var received []byte
			done := make(chan error, 1)
			go func() {
				var err error
				received, err = scenario.ReceiveWrites(receiver, octets)
				done <- err
			}()
			sent, err := scenario.SendWrites(sender, byte(n), octets)
			if err := errors.Join(err, <-done, x.link.SetFaults(badlink.Faults{}, badlink.Faults{})); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(sent, received) {
				t.Errorf("SHA-256 sent %x, received %x", sent, received)
			}
			stats, tap := receiver.Stats(), to.(*usertcp.Stream).EarlyStats()
			t.Logf("%d FPDUs with %d octets placed early; %+v", stats.EarlyFPDUs, stats.EarlyOctets, tap)
			if (stats.EarlyFPDUs > 0) != early || (tap.Runs > 0) != early {
				t.Errorf("%d FPDUs were placed early, of %d runs that were shown", stats.EarlyFPDUs, tap.Runs)
			}
		})
	}
}
