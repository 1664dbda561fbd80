package extsock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe/simtoe"
)

// Requirements of RFC 6581 and of RFC 6580 §3.3 that show on a connection.

// "The responder and initiator MUST pass the peer's provided IRD and ORD values to the ULP" "The initiator MUST pass
// the responder provided IRD and ORD to the ULP for both MPA Accept and Reject messages."
// MPA-6581-9.1-6, MPA-6581-9.1-16
func TestRFC6581_9_1_TheULPLearnsThePeersDepths(t *testing.T) {
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	ci, cr := extsock.NewConn(a, true, &extsock.Config{IRD: 4, ORD: 30}), extsock.NewConn(b, false, &extsock.Config{IRD: 7, ORD: 20})
	defer ci.Close()
	defer cr.Close()
	answer := func(do func(*extsock.Request) error) <-chan error {
		answered := make(chan error, 1)
		go func() {
			req, err := cr.ReceiveRequest(timeLimit(t))
			if err == nil && (req.IRD != 4 || req.ORD != 30) {
				t.Errorf("the Request states %d, %d, want 4, 30", req.IRD, req.ORD)
			}
			if err == nil {
				err = do(req)
			}
			answered <- err
		}()
		return answered
	}
	rejected := answer(func(r *extsock.Request) error { return r.Reject(timeLimit(t), nil) })
	var re *mpa.RejectError
	if err := ci.EnableDDP(timeLimit(t), nil); !errors.As(err, &re) || !re.Enhanced || re.IRD != 7 || re.ORD != 20 || !strings.Contains(err.Error(), "its IRD is 7, its ORD 20") {
		t.Errorf("EnableDDP = %v, want a rejection with IRD 7, ORD 20", err)
	}
	if err := <-rejected; err != nil {
		t.Fatal(err)
	}
	for _, c := range []*extsock.Conn{ci, cr} {
		if ird, ord := c.PeerDepths(); ird != 0 || ord != 0 {
			t.Errorf("PeerDepths before DDP mode = %d, %d", ird, ord)
		}
	}
	accepted := answer(func(r *extsock.Request) error { return r.Accept(timeLimit(t), nil) })
	if err := errors.Join(ci.EnableDDP(timeLimit(t), nil), <-accepted); err != nil {
		t.Fatal(err)
	}
	if ird, ord := ci.PeerDepths(); ird != 7 || ord != 4 {
		t.Errorf("the Initiator learns IRD %d, ORD %d, want 7, 4", ird, ord)
	}
	if ird, ord := cr.PeerDepths(); ird != 4 || ord != 30 {
		t.Errorf("the Responder learns IRD %d, ORD %d, want 4, 30", ird, ord)
	}
}
