package extsock

import "github.com/rddp/rddp/rdmap"

// readDDP is read in DDP mode.
func (c *Conn) readDDP(p []byte, m *rdmap.Completion) (int, error) {
	d := c.verbs.engine
	if s := c.verbs.rsocket; s != nil {
		return s.read(p, &c.readDeadline)
	}
	if !d.Receives() {
		return 0, errReceiveOwner
	}
	return d.ReadMessage(p, &c.readDeadline, m)
}

// writeDDP is Write in DDP mode.
func (c *Conn) writeDDP(p []byte) (int, error) {
	d := c.verbs.engine
	if s := c.verbs.rsocket; s != nil {
		return s.write(p, &c.writeDeadline)
	}
	if !d.IsByteStream() {
		limit := c.peer.Load().Capabilities.MaxMessage
		if limit > 0 && uint64(len(p)) > uint64(limit) || c.device() != "" && len(p) > d.Longest() {
			return 0, errMessageLength
		}
	}
	return d.Write(p, &c.writeDeadline)
}
