//go:build race

package crc32c

// race is true under the race detector. It does not see what assembly reads and writes, so Copy
// then uses Go's copy, which it sees.
const race = true
