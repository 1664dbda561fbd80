package check

import "fmt"

// Ends has what both ends of a connection must agree on, for queue pairs of one device.
type Ends struct {
	all map[uint32]*knownEnd // by QPN
}

// A knownEnd is an End. It is old if its peer has left the connection since, and it has not.
type knownEnd struct {
	End
	old bool
}

// An End is a queue pair that the program joins with another one of the same device.
type End struct {
	Name         string
	QPN, Peer    uint32
	RQPSN, SQPSN uint32 // SQPSN is valid if InRTS is set
	MTU          uint8
	InRTS        bool
	// Reliable is set for RC. A responder of UC takes the first packet of a message with any PSN.
	Reliable bool
}

// Sets is the event that a queue pair goes to RTR or RTS.
func (e *Ends) Sets(x End) (all []Finding) {
	if e.all == nil {
		e.all = make(map[uint32]*knownEnd)
	}
	if known := e.all[x.QPN]; known != nil {
		known.End = x
	} else {
		e.all[x.QPN] = &knownEnd{End: x}
	}
	y := e.peer(&x)
	if y == nil || y.old || e.all[x.QPN].old {
		return nil
	}
	if x.MTU != y.MTU {
		all = append(all, Finding{MTU, x.Name, fmt.Sprintf("path_mtu is %d bytes, and %d at the peer, QP %d: on a card the longer packets are refused", 128<<x.MTU, 128<<y.MTU, y.QPN)})
	}
	for _, p := range [][2]End{{x, y.End}, {y.End, x}} {
		if from, to := p[0], p[1]; from.InRTS && from.Reliable && to.Reliable && from.SQPSN != to.RQPSN {
			all = append(all, Finding{PSN, to.Name, fmt.Sprintf("rq_psn is %#x, and sq_psn of the peer, QP %d, is %#x: on a card no packet is accepted", to.RQPSN, from.QPN, from.SQPSN)})
		}
	}
	return all
}

// LongPSN is the event that a queue pair gets a first PSN, by an attribute with this name.
func LongPSN(pair, attribute string, psn uint32) (all []Finding) {
	const most = 1<<24 - 1
	if psn > most {
		all = append(all, Finding{PSN, pair, fmt.Sprintf("%s is %#x, which has more than 24 bits: a device drops the others, or refuses it", attribute, psn)})
	}
	return all
}

// ConnectsWithoutRetry is the event that an rdma_cm id connects with a retry_count of 0.
func ConnectsWithoutRetry(id string) Finding {
	return Finding{Retry, id, "retry_count of rdma_connect is 0: the first packet that is lost ends the connection"}
}

// peer returns the end that is joined with x, or nil.
func (e *Ends) peer(x *End) *knownEnd {
	if y := e.all[x.Peer]; y != nil && y.Peer == x.QPN {
		return y
	}
	return nil
}

// Forgets is the event that a queue pair is reset or destroyed. Its peer is left with the values of
// a connection that is over, unless it is the peer that has left it first.
func (e *Ends) Forgets(qpn uint32) {
	x := e.all[qpn]
	if x == nil {
		return
	}
	delete(e.all, qpn)
	if y := e.peer(&x.End); y != nil && !x.old {
		y.old = true
	}
}
