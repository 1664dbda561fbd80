//go:build race

package hostile

// raceEnabled says that the race detector is on, with which rates and memory say nothing.
const raceEnabled = true
