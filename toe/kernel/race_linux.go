//go:build race

package kernel

import "syscall"

// raceRead tells the race detector what syscall.Write would tell it: that b is read now, and that a
// goroutine that reads the bytes from the peer's socket comes after this.
func raceRead(b []byte) {
	syscall.Write(-1, nil) // fails, after it has reported the second fact
	var p [4096]byte
	for n := 1; n > 0; b = b[n:] {
		n = copy(p[:], b)
	}
}
