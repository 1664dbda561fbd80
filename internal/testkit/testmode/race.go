//go:build race

package testmode

// Race is true under the race detector. Rates, memory and counts of allocations mean nothing there.
const Race = true
