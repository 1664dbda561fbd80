package softrnic

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/conn"
)

// lastAcknowledgement returns how long ago the peer's TCP has acknowledged something. ok is false
// if the connection is not the system's TCP.
func lastAcknowledgement(c *conn.Conn) (ago time.Duration, ok bool) {
	s, ok := c.Stream().(syscall.Conn)
	if !ok {
		return 0, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, false
	}
	ok = false
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			ago, ok = time.Duration(info.Last_ack_recv)*time.Millisecond, true
		}
	})
	return ago, ok
}
