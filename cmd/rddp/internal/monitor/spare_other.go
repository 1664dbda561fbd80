//go:build !unix

package monitor

import (
	"net"
	"time"
)

// clientWaits reports whether a connection can be accepted at l. Here that is not known, but it may
// be.
func clientWaits(net.Listener, time.Duration) bool { return true }
