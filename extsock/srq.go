package extsock

import "github.com/rddp/rddp/rdmap"

// QP returns the queue pair of the connection, to know its Completions by in a queue that connections
// share: Completion.QP. It is the connection's, which alone calls its methods.
func (c *Conn) QP() *rdmap.QP { return c.endpoint().qp }

// recvCQDepth returns how deep a RecvCQ of the connection's own is.
func (c *Config) recvCQDepth() int {
	if c.SRQ != nil {
		return max(c.recvDepth(), c.SRQ.Cap())
	}
	return c.recvDepth()
}
