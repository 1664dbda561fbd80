//go:build unix

package filecopy

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether info is that of a regular file of this user that has no other name.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(s.Uid) == os.Geteuid() && s.Nlink == 1
}

// isPrivate reports whether info is that of a file that only this user can have made or opened.
func isPrivate(info fs.FileInfo) bool { return isOwn(info) && info.Mode().Perm()&0o077 == 0 }
