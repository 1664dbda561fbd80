package conn

import (
	"net"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

// StreamOf returns a Stream on top of c.
func StreamOf(c net.Conn) toe.Stream {
	switch c := c.(type) {
	case toe.Stream:
		return c
	case *net.TCPConn:
		return kernel.New(c)
	case *net.UnixConn:
		return kernel.NewUnix(c)
	}
	return netconn.New(c)
}
