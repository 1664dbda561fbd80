// Package testmode has a constant for each build tag that changes what a test checks or how much it
// does.
package testmode

import "testing"

// Count returns full if Full is true, and otherwise short, a number for tests of seconds.
func Count(full, short int) int {
	if Full {
		return full
	}
	return short
}

// Cases returns n if Full is true, and otherwise n/100.
func Cases(n int) int { return Count(n, n/100) }

// Slow reports whether tests of many rounds must make do with fewer: under the race detector, where
// everything takes ten times as long, and with -short.
func Slow() bool { return Race || testing.Short() }

// Rounds returns slow if Slow is true, and otherwise n.
func Rounds(n, slow int) int {
	if Slow() {
		return slow
	}
	return n
}
