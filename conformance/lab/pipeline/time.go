package pipeline

import "time"

// Time is a point in virtual time, or a length of it, in picoseconds. One byte takes 20 ps on a
// link of 400 Gb/s, so a nanosecond would be too coarse. The largest Time is 106 days.
type Time int64

// The units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Second           = 1_000_000 * Microsecond
)

// Microseconds returns t in microseconds.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// Duration returns t rounded up to whole nanoseconds.
func (t Time) Duration() time.Duration {
	return time.Duration((t + Nanosecond - 1) / Nanosecond)
}

// Duration returns d as a Time. d may be up to 106 days.
func Duration(d time.Duration) Time { return Time(d) * Nanosecond }
