// Package testmode tells tests in what way they were built: it has a constant for each build tag
// that changes what a test asserts or how much it does.
package testmode

import "testing"

// Count returns full if Full is true, and else short, which a test gets through in seconds.
func Count(full, short int) int {
	if Full {
		return full
	}
	return short
}

// Cases returns n if Full is true, and else a hundredth of it.
func Cases(n int) int { return Count(n, n/100) }

// Slow reports whether tests of many rounds have to do with fewer: under the race detector
// everything takes ten times as long, and -short asks for it.
func Slow() bool { return Race || testing.Short() }

// Rounds returns slow if Slow is true, and else n.
func Rounds(n, slow int) int {
	if Slow() {
		return slow
	}
	return n
}
