package extsock

// SetReceivedOctets makes c count n octets that the peer has sent.
func SetReceivedOctets(c *Conn, n uint64) { c.verbs.pump.count.received.octets.Store(n) }
