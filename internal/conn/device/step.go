package device

import "github.com/rddp/rddp/internal/states"

// A step is how far something has come that happens once, or never:
//
//	ahead ──▶ posted ──▶ done
//	  └──▶ never
type step uint8

const (
	ahead step = iota
	posted
	done
	never
)

var stepNames = [...]string{"ahead", "posted", "done", "never"}

func (s step) String() string { return stepNames[s] }

var stepNext = states.Table[step]{
	ahead:  states.To(posted, never),
	posted: states.To(done),
	done:   0,
	never:  0,
}

// setFlush changes flush. Nothing else does.
func (m *machine) setFlush(next step) { stepNext.Become(&m.flush, next) }
