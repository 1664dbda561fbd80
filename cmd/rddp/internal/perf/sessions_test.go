package perf

import "testing"

// TestSessionMemory bounds the memory of the histograms of all sessions, which clients can use
// without a data connection.
//
// +checklocksignore: no other goroutine is at work
func TestSessionMemory(t *testing.T) {
	s := &Server{sessions: make(map[string]*session)}
	total := 0
	for n := 0; ; n++ {
		_, v, err := s.open(false)
		if err != nil {
			if n != maxSessions {
				t.Errorf("there are %d sessions", n)
			}
			break
		}
		for _, r := range v.recorders {
			total += r.h.ByteSize()
		}
	}
	if total > 256<<20 {
		t.Errorf("all sessions together hold %d bytes", total)
	}
}
