package extsock

// QPNum returns the number of the connection's queue pair, which is also Completion.QPNum. It tells
// apart the connections that share a completion queue. No two connections of a process have the
// same number.
func (c *Conn) QPNum() uint64 {
	if !c.ok() {
		return 0
	}
	return c.endpoint().stream
}

// recvCQDepth returns the depth of a RecvCQ that the connection makes itself.
func (c *Config) recvCQDepth() int {
	if c.SRQ != nil {
		return max(c.recvDepth(), c.SRQ.Cap())
	}
	return c.recvDepth()
}
