package proxy

import "github.com/rddp/rddp/internal/states"

// A State is what a Proxy does with newcomers. It only moves on:
//
//	StateListening ──Serve──► StateServing ──the end of ctx, or Close──► StateDraining ──► StateEnded
//	       └─────────────────────────Close────────────────────────────────────▲
type State uint8

const (
	StateListening State = iota // newcomers wait in the listener
	StateServing                // newcomers are served
	StateDraining               // newcomers are refused, and connections under way may end
	StateEnded                  // nothing is left
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

// become is the one place where the state changes. A state that has passed does not come back.
func (p *Proxy) become(next State) {
	for {
		now := p.state.Load()
		if next <= now || p.state.Move(now, next, stateNext) {
			return
		}
	}
}
