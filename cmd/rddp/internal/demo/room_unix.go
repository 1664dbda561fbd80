//go:build linux || darwin

package demo

import (
	"math"
	"os"
	"syscall"
)

// freeBytes returns the number of bytes that a user without privilege can write to a folder. Some
// file systems do not say: then the server finds out.
func freeBytes(folder string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	if st.Blocks == 0 || st.Bavail > math.MaxInt64/uint64(st.Bsize) {
		return math.MaxInt64, nil
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
