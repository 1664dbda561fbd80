//go:build !unix

package proxy

import "net"

// hasGone always returns false: only unix systems can look at a socket without reading from it.
func hasGone(net.Conn, bool) bool { return false }
