//go:build linux

package cm

import "fmt"

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

// nextStates are the changes of state that happen, apart from those to destroyed.
var nextStates = map[state][]state{
	idle:       {bound, addressed},
	bound:      {addressed, listening},
	addressed:  {routed},
	routed:     {connecting},
	requested:  {connecting, over},
	connecting: {connected, over},
	connected:  {over},
}

// become is the one place that changes the state.
func (i *id) become(to state) {
	if i.expected != nil && to != connecting {
		i.expected()
		i.expected = nil
	}
	for _, s := range nextStates[i.state] {
		if s == to {
			i.state = to
			return
		}
	}
	if to != destroyed {
		panic(fmt.Sprintf("BUG: an id goes from %v to %v", i.state, to))
	}
	i.state = to
}
