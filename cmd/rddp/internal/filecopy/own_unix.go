//go:build unix

package filecopy

import (
	"io/fs"
	"os"
	"syscall"
)

// ownUser returns the owner of the files that this process creates. It is a variable for the tests.
var ownUser = os.Geteuid

// isOwn reports whether info describes a regular file of this user with only one link.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(s.Uid) == ownUser() && s.Nlink == 1
}

// isPrivate reports whether info describes a file that only this user can have created or opened.
func isPrivate(info fs.FileInfo) bool { return isOwn(info) && info.Mode().Perm()&0o077 == 0 }

// isAlike reports whether two files have the same owner, bits and number of links.
func isAlike(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, too := b.Sys().(*syscall.Stat_t)
	return ok && too && a.Mode() == b.Mode() && x.Uid == y.Uid && x.Nlink == y.Nlink
}
