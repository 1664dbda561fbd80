package check

import "fmt"

// Ends has what both ends of a connection must agree on, for queue pairs of one device.
type Ends struct {
	all map[uint32]End // by QPN
}

// An End is a queue pair that the program joins with another one of the same device.
type End struct {
	Name         string
	QPN, Peer    uint32
	RQPSN, SQPSN uint32 // SQPSN is valid if InRTS is set
	MTU          uint8
	InRTS        bool
}

// Sets is the event that a queue pair goes to RTR or RTS.
func (e *Ends) Sets(x End) (all []Finding) {
	if e.all == nil {
		e.all = make(map[uint32]End)
	}
	e.all[x.QPN] = x
	y, ok := e.all[x.Peer]
	if !ok || y.Peer != x.QPN {
		return nil
	}
	if x.MTU != y.MTU {
		all = append(all, Finding{MTU, x.Name, fmt.Sprintf("path_mtu is %d bytes, and %d at the peer, QP %d: on a card the longer packets are refused", 128<<x.MTU, 128<<y.MTU, y.QPN)})
	}
	for _, p := range [][2]End{{x, y}, {y, x}} {
		if from, to := p[0], p[1]; from.InRTS && from.SQPSN != to.RQPSN {
			all = append(all, Finding{PSN, to.Name, fmt.Sprintf("rq_psn is %#x, and sq_psn of the peer, QP %d, is %#x: on a card no packet is accepted", to.RQPSN, from.QPN, from.SQPSN)})
		}
	}
	return all
}

// Forgets is the event that a queue pair is reset.
func (e *Ends) Forgets(qpn uint32) { delete(e.all, qpn) }
