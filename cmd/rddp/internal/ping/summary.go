package ping

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Summary counts the pings of a client. The zero value counts none.
type Summary struct {
	Pings, Size     int // number of answered pings, and bytes of each
	Min, Max, Total time.Duration

	times *hdrhistogram.Histogram // nil if there was no ping
}

// The histogram's range is an hour, and its percentiles are exact to three digits.
const (
	maxTime    = time.Hour
	timeDigits = 3
)

func (s *Summary) add(rtt time.Duration) {
	if s.Pings == 0 {
		s.Min, s.times = rtt, hdrhistogram.New(1, int64(maxTime), timeDigits)
	}
	s.Min, s.Max = min(s.Min, rtt), max(s.Max, rtt)
	s.Total += rtt
	s.Pings++
	_ = s.times.RecordValue(int64(min(rtt, maxTime))) // only a larger value is an error
}

// Avg returns the mean time of a ping, or zero if there was none.
func (s Summary) Avg() time.Duration {
	if s.Pings == 0 {
		return 0
	}
	return s.Total / time.Duration(s.Pings)
}

// Percentile returns the time within which the given percentage of pings was answered, or zero if
// there was no ping.
func (s Summary) Percentile(percent float64) time.Duration {
	if s.times == nil {
		return 0
	}
	return min(max(time.Duration(s.times.ValueAtQuantile(percent)), s.Min), s.Max)
}

// String returns the summary as one line.
func (s Summary) String() string {
	pings := "pings"
	if s.Pings == 1 {
		pings = "ping"
	}
	line := fmt.Sprintf("%d %s of %d bytes", s.Pings, pings, s.Size)
	if s.Pings > 0 {
		line += fmt.Sprintf(", RTT min/avg/max %s/%s/%s, p50/p90/p99 %s/%s/%s", Round(s.Min), Round(s.Avg()), Round(s.Max),
			Round(s.Percentile(50)), Round(s.Percentile(90)), Round(s.Percentile(99)))
	}
	return line
}

// Round returns the text of d, with one digit after the point.
func Round(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1fµs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
