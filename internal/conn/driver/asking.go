package driver

import (
	"time"

	"github.com/rddp/rddp/internal/states"
)

// An asking is a Look that has found nothing, and waits until the home goroutine has taken what the
// stream has, because over TCP a program would find that. The home goroutine owns all fields but
// answered.
type asking struct {
	state    askingState
	laps     int           // reads for it
	answered chan struct{} // closed with askAnswered
}

// An askingState is how far the home goroutine has come.
//
//	asked ◀──bytes, read──▶ trying ──nothing──▶ answered
//	  └──────────nothing is there───────────────▲
type askingState uint8

const (
	askAsked    askingState = iota
	askTrying               // it reads the stream, for at most tryTime
	askAnswered             // it has taken all that was there
)

var askNames = [...]string{"asked", "trying", "answered"}

func (s askingState) String() string { return askNames[s] }

var askNext = states.Table[askingState]{
	askAsked:    states.To(askTrying, askAnswered),
	askTrying:   states.To(askAsked, askAnswered),
	askAnswered: 0,
}

// become changes the state of an asking. Nothing else does.
func (a *asking) become(next askingState) { askNext.Become(&a.state, next) }

const (
	// tryTime is how long a read lasts of a stream that cannot tell whether it has something.
	tryTime = time.Millisecond
	// lookLaps bounds the reads for one Look, because the peer may send one-sided operations
	// forever.
	lookLaps = 64
)

// A readier is a Stream that can often tell whether a ReadSegment would wait. Ready returns false
// only if it would. The holder of the receive role calls it. If a wrapper hides the method, a Look
// takes tryTime.
type readier interface{ Ready() bool }
