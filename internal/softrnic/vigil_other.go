//go:build !linux

package softrnic

import (
	"time"

	"github.com/rddp/rddp/internal/conn"
)

// lastAcknowledgement is for Linux.
func lastAcknowledgement(*conn.Conn) (ago time.Duration, ok bool) { return 0, false }
