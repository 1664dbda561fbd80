package check

import "testing"

// TestEnds: two ends must agree on PSNs and on the MTU, and only ends of one connection.
func TestEnds(t *testing.T) {
	end := func(qpn, peer uint32, change func(*End)) End {
		x := End{Name: "QP", QPN: qpn, Peer: peer, RQPSN: 5, SQPSN: 5, MTU: 3, InRTS: true, Reliable: true}
		if change != nil {
			change(&x)
		}
		return x
	}
	for _, tt := range []struct {
		desc   string
		change func(*End)
		want   []Kind
	}{
		{"equal", nil, nil},
		{"another MTU", func(x *End) { x.MTU = 4 }, []Kind{MTU}},
		{"another sq_psn", func(x *End) { x.SQPSN = 6 }, []Kind{PSN}},
		{"another rq_psn", func(x *End) { x.RQPSN = 6 }, []Kind{PSN}},
		{"another sq_psn that is not known yet", func(x *End) { x.SQPSN, x.InRTS = 6, false }, nil},
		{"another rq_psn of an unreliable connection", func(x *End) { x.RQPSN, x.Reliable = 6, false }, nil},
		{"another peer", func(x *End) { x.Peer, x.MTU = 3, 4 }, nil},
	} {
		var e Ends
		wants(t, tt.desc+": the first end", e.Sets(end(1, 2, nil)))
		wants(t, tt.desc, e.Sets(end(2, 1, tt.change)), tt.want...)
		e.Forgets(1)
		wants(t, tt.desc+": one end is reset", e.Sets(end(2, 1, tt.change)))
	}
}

// TestEndsAgain: two ends that are joined once more are compared when both have left their former
// connection, in any order.
func TestEndsAgain(t *testing.T) {
	end := func(qpn, peer, psn uint32) End {
		return End{Name: "QP", QPN: qpn, Peer: peer, RQPSN: psn, SQPSN: psn, MTU: 3, InRTS: true, Reliable: true}
	}
	var e Ends
	join := func(desc string, qpn, peer, psn uint32, want ...Kind) {
		t.Helper()
		wants(t, desc, e.Sets(end(qpn, peer, psn)), want...)
	}
	join("A", 1, 2, 5)
	join("B", 2, 1, 5)
	for psn := range uint32(3) {
		e.Forgets(1)
		join("A is joined again before B is reset", 1, 2, psn)
		join("a command changes B", 2, 1, 5)
		e.Forgets(2)
		join("B has the same PSN", 2, 1, psn)
		e.Forgets(2)
		e.Forgets(1)
		join("both are reset: A", 1, 2, psn)
		join("both are reset: B", 2, 1, 5, PSN, PSN)
		e.Forgets(1)
		e.Forgets(2)
		join("A", 1, 2, 5)
		join("B", 2, 1, 5)
	}
	e.Forgets(1)
	join("A", 1, 2, 9)
	e.Forgets(2)
	join("B has another PSN", 2, 1, 5, PSN, PSN)
}
