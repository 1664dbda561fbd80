package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// A userCase is one session between a TCP in user space and the kernel's.
type userCase struct {
	session     *session
	kernelDials bool
	version     int // 0 is IPv4, 1 is IPv6
	markers     bool
}

func (c userCase) String() string {
	return fmt.Sprintf("%s, the kernel dials: %t, IPv%d, markers: %t", c.session.name, c.kernelDials, 4+2*c.version, c.markers)
}

// userCases has every session in every way.
func userCases() (list []userCase) {
	all := append([]session{{"Solicited", extsock.Config{Messages: true}, solicitedInitiator, solicitedResponder}}, sessions...)
	for i := range all {
		for n := range 8 {
			list = append(list, userCase{&all[i], n&1 != 0, n >> 1 & 1, n&4 != 0})
		}
	}
	return list
}

// run has the session on a connection between the two ends a and b, of which a was dialed. Markers
// are those that the TCP in user space needs for early placement. Without them it does not place
// early either.
func (c userCase) run(a, b net.Conn) error {
	cfg := c.session.cfg
	cfg.Markers, cfg.NoEarlyPlacement = c.markers, !c.markers
	i, r := extsock.NewConn(a, true, &cfg), extsock.NewConn(b, false, &cfg)
	done := make(chan error, 1)
	go func() { done <- c.session.runOn(r, false) }()
	if err := errors.Join(c.session.runOn(i, true), <-done); err != nil {
		return fmt.Errorf("%v: %w", c, err)
	}
	for _, x := range []*extsock.Conn{i, r} {
		if s := x.ConnectionState(); s.SendsMarkers != c.markers || s.ReceivesMarkers != c.markers || !s.CRC {
			return fmt.Errorf("%v: %+v", c, s)
		}
	}
	return nil
}

// solicitedInitiator sends a Send of each kind, and the last one ends an STag of the Responder.
func solicitedInitiator(e *end) error {
	if err := e.prepare(); err != nil {
		return err
	}
	d, err := e.c.RecvCQ().Wait(e.ctx)
	if err != nil {
		return err
	}
	e.recvs--
	h, rest, err := rdmap.ParseHandle(e.bufs[d.ID])
	if err != nil {
		return err
	}
	other, _, err := rdmap.ParseHandle(rest)
	if err != nil {
		return err
	}
	for _, wr := range []rdmap.WorkRequest{
		{Op: rdmap.WorkSend, Data: pattern(inHello, 1)},
		{Op: rdmap.WorkSend, Data: pattern(inHello, 2), Solicited: true},
		{Op: rdmap.WorkSendInvalidate, Data: pattern(inHello, 3), Invalidate: h.STag},
		{Op: rdmap.WorkSendInvalidate, Data: pattern(inHello, 4), Invalidate: other.STag, Solicited: true},
	} {
		if err := e.post(wr); err != nil {
			return err
		}
		if _, err := e.sent(); err != nil {
			return err
		}
	}
	_, err = e.received(40, inBack)
	return err
}

func solicitedResponder(e *end) error {
	var stags []ddp.STag
	var handles []byte
	for range 2 {
		r, err := e.c.Register(make([]byte, 8), ddp.RemoteWrite)
		if err != nil {
			return err
		}
		stags, handles = append(stags, r.Handle().STag), r.Handle().AppendTo(handles)
	}
	if err := e.prepare(); err != nil {
		return err
	}
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: handles}); err != nil {
		return err
	}
	for i := range 4 {
		d, err := e.received(1+i, inHello)
		if err != nil {
			return err
		}
		invalidates := i >= 2
		if d.Solicited != (i%2 == 1) || d.HasInvalidated != invalidates || invalidates && d.Invalidated != stags[i-2] {
			return &wrongOctets{where: fmt.Sprintf("Send %d: %v", i, d)}
		}
	}
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: pattern(inBack, 40)}); err != nil {
		return err
	}
	for range 2 { // the handles and the answer
		if _, err := e.sent(); err != nil {
			return err
		}
	}
	return nil
}

// TestUserTCPOperations has sessions with every operation between a TCP in user space and the
// kernel's, each in both roles, over IPv4 and IPv6, with and without Markers, on a perfect path and
// on one with faults.
func TestUserTCPOperations(t *testing.T) {
	cases := userCases()
	for _, path := range []struct {
		desc   string
		faults badlink.Faults
	}{{"perfect", badlink.Faults{}}, {"lossy", lossyFaults}} {
		t.Run(path.desc, func(t *testing.T) {
			x := newUserNet(t, usertcp.Config{}, badlink.Config{Seed: seeded(t).Uint64()})
			var pairs [2][2]pairing
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
// because a SYN that is lost costs a second.
func (x *userNet) runCases(t *testing.T, cases []userCase, pairs *[2][2]pairing, faults badlink.Faults) {
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
	inGoroutines(len(cases), len(cases), func(i int) {
		if err := cases[i].run(ends[i][0], ends[i][1]); err != nil {
			t.Error(err)
		}
	})
	if err := x.link.SetFaults(badlink.Faults{}, badlink.Faults{}); err != nil {
		t.Fatal(err)
	}
}

// TestUserTCPTerminate: an RDMA Write to an STag that does not exist ends in a Terminate, which
// says so at both ends.
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
			if err := switchEnds(t, i, r); err != nil {
				t.Fatal(err)
			}
			memory := make([]byte, 64)
			region, err := r.Register(memory, ddp.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			bad := region.Handle()
			bad.STag ^= 0x100
			if err := i.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: pattern(inMemory, 64), Remote: bad}); err != nil {
				t.Fatal(err)
			}
			const badSTag = rdmap.TerminateCode(0x1100) // DDP, Tagged Buffer, Invalid STag
			for end, c := range []*extsock.Conn{i, r} {
				c.SetReadDeadline(time.Now().Add(sessionLimit))
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
// With early placement that end places FPDUs early, and the memory is the same as without.
func TestUserTCPEarlyPlacement(t *testing.T) {
	octets := int64(testmode.Count(1e8, 1e6))
	ways := []int{0, 3, 5, 6} // each value of each of the three with each of another one
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
			if err := switchEnds(t, sender, receiver); err != nil {
				t.Fatal(err)
			}
			if err := x.link.SetFaults(lossyFaults, lossyFaults); err != nil {
				t.Fatal(err)
			}
			var received []byte
			done := make(chan error, 1)
			go func() {
				var err error
				received, err = receiveWrites(receiver, octets)
				done <- err
			}()
			sent, err := sendWrites(sender, byte(n), octets)
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
