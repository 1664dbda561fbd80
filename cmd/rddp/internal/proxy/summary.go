package proxy

import "time"

// A Summary describes a connection that has ended.
type Summary struct {
	From, To    string        // the peer that connected, and the address that was dialed
	Via         string        // the proxy that has named From in a PROXY header, or empty
	Through     bool          // both sides were connected
	There, Back int64         // bytes passed on from From to To, and from To to From
	DDPMode     bool          // the connection between the two proxies is in DDP mode
	Fallback    error         // why the dialed connection is plain TCP, which Config.Fallback allows; matches extsock.ErrPlainTCP
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
	Open        int   // connections under way
	Ended       int64 // those that have ended
	Failed      int64 // those of them that did not end in order
	Refused     int64 // those that found no room; those of an exit are in Failed too
	Fallbacks   int64 // those that fell back to plain TCP
	There, Back int64 // bytes passed on, including those of connections under way
}
