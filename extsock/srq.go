package extsock

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
