// Package observe shows what a connection does: its bytes to Taps, its events to a log.
//
// A connection without a Tap or a trace has a nil pointer instead, whose methods do nothing.
package observe
