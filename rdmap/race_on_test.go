//go:build race

package rdmap

// raceEnabled tells tests that count allocations that the race detector makes some of its own.
const raceEnabled = true
