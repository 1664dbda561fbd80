package device

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/extsock"
)

// lastAcknowledgement returns how long ago the peer's TCP has acknowledged something. ok is false
// if the connection is not the system's TCP.
func lastAcknowledgement(c *extsock.Conn) (ago time.Duration, ok bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			ago, ok = time.Duration(info.Last_ack_recv)*time.Millisecond, true
		}
	})
	return ago, ok
}
