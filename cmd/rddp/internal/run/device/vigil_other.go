//go:build !linux

package device

import (
	"time"

	"github.com/rddp/rddp/extsock"
)

// lastAcknowledgement is for Linux.
func lastAcknowledgement(*extsock.Conn) (ago time.Duration, ok bool) { return 0, false }
