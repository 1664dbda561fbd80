package proxy

import "time"

// A Summary describes a connection that has ended.
type Summary struct {
	From, To    string        // the peer that connected, and the address that was dialed
	Via         string        // the proxy that named From in a PROXY header, or empty
	Through     bool          // both sides were connected
	There, Back int64         // bytes copied from From to To, and from To to From
	DDPMode     bool          // the connection between the two proxies is in DDP mode
	Fallback    error         // the reason for a fallback to plain TCP (Config.Fallback), or nil; matches extsock.ErrPlainTCP
	Duration    time.Duration // from the accept
	Err         error         // nil after an orderly end in both directions
}

// add adds the counters of o.
func (s *Stats) add(o Stats) {
	s.Open += o.Open
	s.Ended += o.Ended
	s.Failed += o.Failed
	s.Refused += o.Refused
	s.Fallbacks += o.Fallbacks
	s.There += o.There
	s.Back += o.Back
}

// Stats are the counters of a Proxy since it began.
type Stats struct {
	Open        int   // open connections
	Ended       int64 // connections that have ended
	Failed      int64 // those of Ended that did not end in an orderly way
	Refused     int64 // connections for which there was no place; at an exit they are in Failed too
	Fallbacks   int64 // connections that fell back to plain TCP
	There, Back int64 // bytes copied, including those of open connections
}
