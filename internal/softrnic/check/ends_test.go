package check

import "testing"

// TestEnds: two ends must agree on PSNs and on the MTU, and only ends of one connection.
func TestEnds(t *testing.T) {
	end := func(qpn, peer uint32, change func(*End)) End {
		x := End{Name: "QP", QPN: qpn, Peer: peer, RQPSN: 5, SQPSN: 5, MTU: 3, InRTS: true}
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
		{"another peer", func(x *End) { x.Peer, x.MTU = 3, 4 }, nil},
	} {
		var e Ends
		wants(t, tt.desc+": the first end", e.Sets(end(1, 2, nil)))
		wants(t, tt.desc, e.Sets(end(2, 1, tt.change)), tt.want...)
		e.Forgets(1)
		wants(t, tt.desc+": one end is reset", e.Sets(end(2, 1, tt.change)))
	}
}
