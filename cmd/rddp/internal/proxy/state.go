package proxy

import "github.com/rddp/rddp/internal/states"

// A State says how a Proxy treats new connections. It never goes back:
//
//	StateListening ──Serve──► StateServing ──the end of ctx, or Close──► StateDraining ──► StateEnded
//	       └─────────────────────────Close────────────────────────────────────▲
type State uint8

const (
	StateListening State = iota // new connections wait in the listener
	StateServing                // new connections are served
	StateDraining               // new connections are refused, and open ones may end
	StateEnded                  // all connections have ended
)

var stateNames = [...]string{"listening", "serving", "draining", "ended"}

func (s State) String() string { return stateNames[s] }

var stateNext = states.Table[State]{
	StateListening: states.To(StateServing, StateDraining),
	StateServing:   states.To(StateDraining),
	StateDraining:  states.To(StateEnded),
	StateEnded:     0,
}

// State returns the state.
func (p *Proxy) State() State { return p.state.Load() }

// become changes the state, unless it is already past next. Nothing else changes it.
func (p *Proxy) become(next State) {
	for {
		now := p.state.Load()
		if next <= now || p.state.Move(now, next, stateNext) {
			return
		}
	}
}
