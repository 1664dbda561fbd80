package extsock

import "github.com/rddp/rddp/rdmap"

// A SharedReceiveQueue, made by rdmap.NewSharedReceiveQueue, holds receive buffers for all connections
// that have it as Config.SRQ.
type SharedReceiveQueue = rdmap.SharedReceiveQueue

// QPNum returns the number of the connection's queue pair. Completion.QPNum is this number, which tells the
// connections apart that share a completion queue. No two connections of a process have the same number.
func (c *Conn) QPNum() uint64 { return c.endpoint().stream }

// recvCQDepth returns how deep a RecvCQ of the connection's own is.
func (c *Config) recvCQDepth() int {
	if c.SRQ != nil {
		return max(c.recvDepth(), c.SRQ.Cap())
	}
	return c.recvDepth()
}
