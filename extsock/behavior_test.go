package extsock_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/devicetest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/verbs"
)

// deviceFlag makes TestBehavior use an RDMA device.
var deviceFlag = flag.String("device", "", "the RDMA device of TestBehavior, NAME@ADDRESS, such as siw0@10.0.2.15; without NAME it is the first one")

// behaviors are tests of what a program sees of a connection, in process or on a device. Their
// connections come from simPair and tcpPair, and they use only what devices have.
//
// The others stay in process, for one of these reasons:
//   - they look at the wire: FPDUs, segments, startup frames, Terminates, Markers, TLS, taps and
//     captures (rfc*, cve, markers, startup, capture, tap, trace, early, hostile and fault tests),
//     or are their peer themselves (rawPeer)
//   - they look inside the driver: who receives, credits, grants, rendezvous, put-off sends,
//     memory, allocations, counters and goroutines (role, window, recvwindow, grant, rendezvous,
//     putoff, pause, burst, memory, stats)
//   - they use a special stream, which stalls, is cut, or has no deadlines (gate, plainConn,
//     simtoe's Cut)
//   - they use what no device has, as TestWithoutDevice does: the program's own Work Requests and
//     CompletionQueues, memory of Go's heap, Windows, SRQs, Domains, RSockets, StartupPrefer and
//     StartupOff, IdleTimeout and WriteTimeout
//   - they test message mode where a device differs, as docs/devices.md says: a message has at most
//     RecvSize bytes, and a reset is io.EOF
var behaviors = []struct {
	name string
	test func(t *testing.T)
	// bubble says that the test looks at the clock or waits until nothing moves, so it runs only in
	// a bubble.
	bubble bool
}{
	{"nettest", behaviorOfNetConn, false},
	{"StreamHalfClose", TestStreamHalfClose, false},
	{"StreamCloseKeepsTheTail", TestStreamCloseKeepsTheTail, false},
	{"StreamBothClose", TestStreamBothClose, false},
	{"StreamClosesWhileBlocked", TestStreamClosesWhileBlocked, false},
	{"StreamSmallSendQueue", TestStreamSmallSendQueue, false},
	{"StreamDeadlines", TestStreamDeadlines, false},
	{"ReadKeepsMessagesApart", TestReadKeepsMessagesApart, false},
	{"ResetOverridesEPIPE", TestResetOverridesEPIPE, false},
	{"StreamCloseWriteDuringWrite", TestStreamCloseWriteDuringWrite, true},
	{"StreamCloseWriteWithoutCredits", TestStreamCloseWriteWithoutCredits, true},
	{"Deadlines", TestDeadlines, true},
	{"StreamTimedOutWriteIsTheCallers", TestStreamTimedOutWriteIsTheCallers, true},
	{"CloseWithUnreadData", func(t *testing.T) { closeWithUnreadData(t, resetPairs["byte stream"]) }, false},
	{"CloseWithAllRead", TestCloseWithAllRead, false},
	{"CloseReadKeepsWhatHasCome", func(t *testing.T) { closeReadKeepsWhatHasCome(t, resetPairs["byte stream"]) }, false},
	{"Copy", TestCopy, false},
	{"ErrorsAreThoseOfTCP", TestErrorsAreThoseOfTCP, false},
}

// on says where simPair and tcpPair make connections. Only TestBehavior, which is not parallel,
// changes it.
var on engineOfTest

// An engineOfTest makes connections on a device, or in process if it is zero.
type engineOfTest struct {
	device  func() toe.Backend // for the connections of one pair
	address string             // of the device, with port 0
	real    bool               // it runs outside of bubbles
	last    toe.Backend        // that of the newest pair
}

// TestBehavior runs the tests of behaviors with connections on each kind of simulated device, or on
// the device of the flag -device.
func TestBehavior(t *testing.T) {
	defer func() { on = engineOfTest{} }()
	if *deviceFlag != "" {
		name, address, _ := strings.Cut(*deviceFlag, "@")
		b := &verbs.Backend{Name: name}
		defer func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}()
		on = engineOfTest{device: func() toe.Backend { return b }, address: net.JoinHostPort(address, "0"), real: true}
		runBehaviors(t)
		return
	}
	for _, rnic := range []bool{false, true} {
		t.Run(map[bool]string{false: "channel adapter", true: "RNIC"}[rnic], func(t *testing.T) {
			on = engineOfTest{device: func() toe.Backend { return &devicetest.Backend{RNIC: rnic} }, address: "here:1"}
			runBehaviors(t)
		})
	}
}

func runBehaviors(t *testing.T) {
	for _, b := range behaviors {
		if !b.bubble || !on.real {
			t.Run(b.name, b.test)
		}
	}
}

func behaviorOfNetConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		ci, cr := tcpPair(t, side{}, side{})
		return ci, cr, func() { ci.Close(); cr.Close() }, nil
	})
}

// pair makes two connections. Their Close is the cleanup.
func (e *engineOfTest) pair(t testing.TB, i, r side) (ci, cr *extsock.Conn) {
	t.Helper()
	if i.before != nil || r.before != nil {
		t.Fatal("on a device nothing can be done before the switch")
	}
	e.last = e.device()
	for _, cfg := range []*extsock.Config{&i.cfg, &r.cfg} {
		cfg.Startup, cfg.Backend = extsock.StartupRequire, e.last
	}
	l, err := extsock.Listen("tcp", e.address, &r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := e.address
	if e.real {
		to = l.Addr().String()
	}
	dialed := make(chan error, 1)
	go func() {
		var err error
		ci, err = (&extsock.Dialer{Config: &i.cfg}).DialDDP(context.Background(), "tcp", to)
		dialed <- err
	}()
	if err := l.SetDeadline(prototest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	cr, err = l.AcceptDDP()
	if err != nil {
		t.Fatal(fmt.Errorf("%w; Dial = %w", err, <-dialed))
	}
	if err := <-dialed; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ci.Close(); cr.Close() })
	for _, c := range []*extsock.Conn{ci, cr} {
		if s := c.ConnectionState(); s.Device == "" {
			t.Fatalf("not on a device: %v", s.NoDevice)
		}
	}
	return ci, cr
}

// register gives the peer of c access to a copy of b.
func (e *engineOfTest) register(t testing.TB, c *extsock.Conn, b []byte, a ddp.Access) extsock.Region {
	t.Helper()
	m, err := extsock.NewMemory(e.last, len(b), a)
	if err != nil {
		t.Fatal(err)
	}
	copy(m.Bytes(), b)
	r, err := m.Share(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
