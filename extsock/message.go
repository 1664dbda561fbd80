package extsock

import "github.com/rddp/rddp/rdmap"

// readDDP is Read in DDP mode.
func (c *Conn) readDDP(p []byte) (int, rdmap.Completion, error) {
	d := c.verbs.driver
	if !d.Receives() {
		return 0, rdmap.Completion{}, errReceiveOwner
	}
	return d.ReadMessage(p, &c.readDeadline)
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
