//go:build race

package ddp

// raceEnabled tells that the race detector is on, which makes code slow and allocate.
const raceEnabled = true
