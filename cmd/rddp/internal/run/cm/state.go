//go:build linux

package cm

import "github.com/rddp/rddp/internal/states"

// A state is the state of an id.
//
//	          ┌──────────▶ listening
//	          │
//	idle ──▶ bound ──▶ addressed ──▶ routed ──▶ connecting ──▶ connected ──▶ over
//	  │                    ▲                      ▲   │                       ▲
//	  └────────────────────┘         requested ───┘   └───────────────────────┤
//	                                     └────────────────────────────────────┘
//
// An id that the program has created begins as idle, and one that a peer's Request has created as
// requested. From every state an id can be destroyed.
type state uint8

const (
	idle       state = iota
	bound            // it has a local port
	addressed        // the peer's address is known, and the local one to reach it from
	routed           // the same, and the program has asked for the route
	connecting       // a Request or a Reply is under way
	connected        // the queue pair has its connection
	over             // the connection has ended, or never came about
	listening        // peers may connect
	requested        // a peer's Request waits for the program
	destroyed
)

var stateNames = [...]string{
	"idle", "bound", "addressed", "routed", "connecting", "connected", "over", "listening", "requested", "destroyed",
}

// String returns the name of the state.
func (s state) String() string { return stateNames[s] }

var stateNext = states.Table[state]{
	idle:       states.To(bound, addressed, destroyed),
	bound:      states.To(addressed, listening, destroyed),
	addressed:  states.To(routed, destroyed),
	routed:     states.To(connecting, destroyed),
	connecting: states.To(connected, over, destroyed),
	connected:  states.To(over, destroyed),
	over:       states.To(destroyed),
	listening:  states.To(destroyed),
	requested:  states.To(connecting, over, destroyed),
	destroyed:  states.To(destroyed), // an unaccepted id, by the end of the channel and with its listener
}

// become is the one place that changes the state.
func (i *id) become(to state) {
	if i.expected != nil && to != connecting {
		i.expected()
		i.expected = nil
	}
	stateNext.Become(&i.state, to)
}
