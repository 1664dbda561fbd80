package proxy

// A State is what a Proxy does with newcomers. It only moves on:
//
//	StateListening ──Serve──► StateServing ──the end of ctx, or Close──► StateDraining ──► StateEnded
//	       └─────────────────────────Close───────────────────────────────►─┘
type State int32

const (
	StateListening State = iota // newcomers wait in the listener
	StateServing                // newcomers are served
	StateDraining               // newcomers are refused, and connections under way may end
	StateEnded                  // nothing is left
)

func (s State) String() string {
	return [...]string{"listening", "serving", "draining", "ended"}[s]
}

// State returns the state.
func (p *Proxy) State() State { return State(p.state.Load()) }

// become is the one place where the state changes. A state that has passed does not come back.
func (p *Proxy) become(next State) {
	for {
		now := p.state.Load()
		if int32(next) <= now || p.state.CompareAndSwap(now, int32(next)) {
			return
		}
	}
}
