package extsock

// readDDP is Read in DDP mode.
func (c *Conn) readDDP(p []byte) (int, error) {
	d := c.verbs.driver
	if !d.Receives() {
		return 0, errReceiveOwner
	}
	return d.Read(p, &c.readDeadline)
}

// writeDDP is Write in DDP mode.
func (c *Conn) writeDDP(p []byte) (int, error) {
	d := c.verbs.driver
	if !d.IsByteStream() {
		limit := c.peer.Load().Capabilities.MaxMessage
		if limit > 0 && uint64(len(p)) > uint64(limit) {
			return 0, errMessageLength
		}
	}
	return d.Write(p, &c.writeDeadline)
}
