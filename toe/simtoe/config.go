package simtoe

import (
	"fmt"
	"time"

	"github.com/rddp/rddp/toe"
)

// defaultWindow is the Window of a Config whose Window is 0.
const defaultWindow = 256 << 10

// A Config describes how the network treats the bytes that one side of a connection sends. The zero
// value is an orderly TCP: all bytes arrive at once and in order.
type Config struct {
	// Seed determines the splits, the delays and the early runs.
	Seed uint64

	// MaxSegment is the maximum length of a run in bytes, and so of the result of one ReadSegment
	// or Read. Zero means EMSS if Split or Early is set, and otherwise no limit. 1 splits the
	// stream at every byte.
	MaxSegment int
	// Split makes each run 1 to MaxSegment bytes long, at random. Without Split each run is exactly
	// MaxSegment bytes long.
	Split bool

	// Delay is the maximum time that a run travels. Each run takes a random time from 0 to Delay.
	// Zero means that bytes arrive as soon as they are written. A delayed run never overtakes the
	// run before it. Early runs are not delayed.
	Delay time.Duration

	// Timing, if not nil, is called for each direction and returns the Timing that says when its
	// bytes arrive. Then Delay is ignored. Early runs are not delayed.
	Timing func() Timing

	// Early is the probability, from 0 to 1, that a run is also shown early, with a gap before it.
	Early float64

	// Window is the maximum number of bytes between the sender's Write and the receiver's Read. A
	// Write waits while the window is full. Zero means 256 KiB.
	Window int

	// EMSS is the result of the sending side's EMSS method, in bytes. Zero means toe.DefaultEMSS.
	EMSS int

	// CutAfter is the number of bytes, counted from the beginning, after which the connection is
	// cut in the way that CutHow says. Zero means never.
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

// A Timing determines when the bytes of one direction arrive: a *pipeline.Line of package
// conformance/lab/pipeline, for example. Times are counted from the making of the connection, and
// never go back. The methods are called with the connection's lock held, so they must not use the
// connection.
type Timing interface {
	// Send announces n more bytes, which the sender has written with one call.
	Send(now time.Duration, n int)
	// Advance returns how many bytes have arrived in all at the time now. If ok is set, Advance is
	// called again at the time next, or earlier.
	Advance(now time.Duration) (arrived uint64, next time.Duration, ok bool)
}

// CutHow is the effect of a cut on the two sides.
type CutHow uint8

const (
	// FIN ends this direction. The receiver reads the CutAfter bytes and then io.EOF; the sender's
	// next write fails with EPIPE. The other direction continues.
	FIN CutHow = iota
	// RST ends both directions. Each side reads what was sent before the cut and then gets
	// ECONNRESET. All writes fail with ECONNRESET.
	RST
	// Silence drops everything that the sender sends after the cut, including its FIN. The sender's
	// writes succeed until Window bytes are dropped, and then wait. The other direction continues.
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
