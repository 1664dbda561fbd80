//go:build race

package place

// race is true under the race detector. It does not see what assembly reads and writes, so every
// copy is then Go's copy, which it sees.
const race = true
