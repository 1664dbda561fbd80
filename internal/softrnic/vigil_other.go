//go:build !linux

package softrnic

import (
	"time"

	"github.com/rddp/rddp/internal/conn"
)

// lastAcknowledgement returns false: only Linux has it.
func lastAcknowledgement(*conn.Conn) (ago time.Duration, ok bool) { return 0, false }
