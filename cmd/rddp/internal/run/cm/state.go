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
// An id that the program creates is idle at first, and an id that a peer's Request creates is
// requested. An id can be destroyed in every state.
type state uint8

const (
	idle       state = iota
	bound            // it has a local port
	addressed        // the addresses of both ends are known
	routed           // the program has also resolved the route
	connecting       // a Request or a Reply is being exchanged
	connected        // the queue pair has a connection
	over             // the connection has ended, or could not be established
	listening        // peers may connect
	requested        // a peer's Request waits for the program's decision
	destroyed
)

var stateNames = [...]string{
	"idle", "bound", "addressed", "routed", "connecting", "connected", "over", "listening", "requested", "destroyed",
}

// String returns the name of the state.
func (s state) String() string { return stateNames[s] }

// kernelStates are the numbers that the states have in the kernel. A state that the kernel does not
// have is the one before.
var kernelStates = [...]uint8{
	idle: 0, bound: 7, addressed: 2, routed: 4, connecting: 5, connected: 5, over: 6, listening: 8, requested: 5, destroyed: 10,
}

// kernel returns the number of the kernel's state.
func (s state) kernel() uint8 { return kernelStates[s] }

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
	destroyed:  states.To(destroyed), // an unaccepted id is destroyed twice: when the channel closes, and with its listener
}

// become changes the state. Nothing else does.
func (i *id) become(to state) {
	if i.expected != nil && to != connecting {
		i.expected()
		i.expected = nil
	}
	stateNext.Become(&i.state, to)
}
