//go:build !unix

package proxy

import "net"

// hasGone cannot tell here.
func hasGone(net.Conn, bool) bool { return false }
