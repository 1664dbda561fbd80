//go:build !unix

package filecopy

import "io/fs"

// isOwn reports whether info describes a regular file. These systems have no user IDs.
func isOwn(info fs.FileInfo) bool { return info.Mode().IsRegular() }

// isPrivate is isOwn.
func isPrivate(info fs.FileInfo) bool { return isOwn(info) }

// isAlike reports whether two files have the same bits.
func isAlike(a, b fs.FileInfo) bool { return a.Mode() == b.Mode() }
