package prototest

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// A Crowded is a listener whose first Accept fails as in a process with too many open files.
type Crowded struct {
	net.Listener
	calls atomic.Int32
}

// Accept fails the first time.
func (c *Crowded) Accept() (net.Conn, error) {
	if c.calls.Add(1) == 1 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: c.Addr(), Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return c.Listener.Accept()
}
