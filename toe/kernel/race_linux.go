//go:build race

package kernel

import "syscall"

// raceRead tells the race detector what it would see in syscall.Write: that b is
// read now, and that whoever reads the octets from the peer's socket comes
// after.
func raceRead(b []byte) {
	syscall.Write(-1, nil) // fails, and has told the second before
	var p [4096]byte
	for n := 1; n > 0; b = b[n:] {
		n = copy(p[:], b)
	}
}
