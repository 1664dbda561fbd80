//go:build !race

package testmode

// Race is true under the race detector, which makes rates, memory use and allocation counts
// meaningless.
const Race = false
