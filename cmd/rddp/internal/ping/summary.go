package ping

import (
	"fmt"
	"time"
)

// A Summary counts the pings of a client. The zero value counts none.
type Summary struct {
	Pings, Size     int // number of answered pings, and bytes of each
	Min, Max, Total time.Duration
}

func (s *Summary) add(rtt time.Duration) {
	if s.Pings == 0 || rtt < s.Min {
		s.Min = rtt
	}
	s.Max = max(s.Max, rtt)
	s.Total += rtt
	s.Pings++
}

// Avg returns the mean time of a ping, or zero if there was none.
func (s Summary) Avg() time.Duration {
	if s.Pings == 0 {
		return 0
	}
	return s.Total / time.Duration(s.Pings)
}

// String returns the summary as one line, with times in microseconds.
func (s Summary) String() string {
	line := fmt.Sprintf("%d pings of %d bytes", s.Pings, s.Size)
	if s.Pings > 0 {
		line += fmt.Sprintf(", RTT min/avg/max %.1f/%.1f/%.1f µs", micros(s.Min), micros(s.Avg()), micros(s.Max))
	}
	return line
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
