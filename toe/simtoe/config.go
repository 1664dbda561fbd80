package simtoe

import (
	"fmt"
	"time"

	"github.com/rddp/rddp/toe"
)

// defaultWindow is the Window of a Config that states none.
const defaultWindow = 256 << 10

// Config says what becomes of the octets that one side of a connection sends.
// The zero value is an orderly TCP: everything arrives at once and in order.
type Config struct {
	// Seed chooses the splits, the delays and the early runs.
	Seed uint64

	// MaxSegment is the largest run in octets: what one ReadSegment or Read
	// gives at most. Zero means EMSS if Split or Early asks for runs, else no
	// bound. 1 splits the stream at every octet.
	MaxSegment int
	// Split makes each run 1 to MaxSegment octets long, at random, instead of
	// exactly MaxSegment.
	Split bool

	// Delay is the longest time that a run travels; each takes a random time
	// from 0 to Delay. Zero means that octets arrive as they are written. Runs
	// do not overtake each other in order, but early runs are not delayed.
	Delay time.Duration

	// Early is the probability, 0 to 1, that a run is also shown early: out of
	// order, with a gap before it.
	Early float64

	// Window is how many octets are held between the sender's Write and the
	// receiver's Read; a Write waits when there are more. Zero means 256 KiB.
	Window int

	// EMSS is what the sending side's EMSS returns. Zero means
	// toe.DefaultEMSS.
	EMSS int

	// CutAfter is how many octets this side gets across before the connection
	// is cut as CutHow says, counted from the beginning. Zero means never.
	CutAfter int64
	CutHow   CutHow
}

func (c Config) window() int {
	if c.Window > 0 {
		return c.Window
	}
	return defaultWindow
}

func (c Config) emss() int {
	if c.EMSS > 0 {
		return c.EMSS
	}
	return toe.DefaultEMSS
}

// CutHow says what a cut looks like to the two sides.
type CutHow uint8

const (
	// FIN ends this direction: the receiver reads the CutAfter octets and then
	// io.EOF, the sender's next octet fails with EPIPE. The other direction
	// goes on.
	FIN CutHow = iota
	// RST ends both directions: each side reads what was sent before, then
	// ECONNRESET, and its writes fail with ECONNRESET.
	RST
	// Silence swallows everything the sender sends from then on, its FIN
	// included; its writes go on until Window octets are swallowed. The other
	// direction goes on.
	Silence
)

func (h CutHow) String() string {
	switch h {
	case FIN:
		return "FIN"
	case RST:
		return "RST"
	case Silence:
		return "silence"
	}
	return fmt.Sprintf("CutHow(%d)", uint8(h))
}
