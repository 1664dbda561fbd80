package proxy

import (
	"fmt"
	"time"
)

// A Summary describes a connection that has ended.
type Summary struct {
	From, To    string        // the peer that connected, and the address that was dialled
	Through     bool          // both sides were connected
	There, Back int64         // bytes passed on from From to To, and from To to From
	DDPMode     bool          // the connection between the two proxies is in DDP mode
	Duration    time.Duration // from the accept
	Err         error         // nil after an orderly end in both directions
}

func (s Summary) String() string {
	text := s.From + " -> " + s.To
	if s.Through {
		mode := "TCP"
		if s.DDPMode {
			mode = "DDP"
		}
		text += fmt.Sprintf(": %d bytes there, %d back, %s, %v", s.There, s.Back, mode, s.Duration.Round(time.Millisecond/10))
	}
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}

// Stats are the counters of a Proxy since it began.
type Stats struct {
	Open        int   // connections under way
	Ended       int64 // those that have ended
	Failed      int64 // those of them that did not end in order
	There, Back int64 // bytes passed on, including those of connections under way
}

func (s Stats) String() string {
	return fmt.Sprintf("connections: %d under way, %d ended, %d of them failed; bytes: %d there, %d back", s.Open, s.Ended, s.Failed, s.There, s.Back)
}
