package hostile_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestSpoofedRate measures how much spoofed segments that the victim refuses slow down the
// transfer. It alternates between the transfer alone and the transfer under attack. The attacker
// works on the same CPUs, so the loss includes the attacker's own work.
func TestSpoofedRate(t *testing.T) {
	rounds, round := testmode.Count(9, 1), time.Duration(testmode.Count(400, 20))*time.Millisecond
	rates := []int{1000, 10_000, 100_000}[:testmode.Count(3, 1)]
	s := newSpoofing(t)
	c := s.connect()
	c.begin()
	waitFor(t, "the transfer begins", func() bool { return c.received() > bulkLen })
	for _, perSecond := range rates {
		var losses []float64
		var sent int
		for range rounds {
			alone := c.rate(round, func(time.Duration) {})
			due := 0
			attacked := c.rate(round, func(since time.Duration) {
				for ; due < int(since.Seconds()*float64(perSecond)); due++ {
					v := s.link.now()
					seg := s.segment(&v)
					seg.options = nil
					s.inject(&seg)
				}
			})
			sent += due
			losses = append(losses, 1-attacked/alone)
		}
		slices.Sort(losses)
		t.Logf("%d segments to be sent per second, %.0f sent: the transfer loses %.1f %% (median of %d rounds)", perSecond,
			float64(sent)/float64(rounds)/round.Seconds(), 100*losses[len(losses)/2], rounds)
	}
	c.pause()
	if err := c.works(); err != nil {
		t.Errorf("the stream is lost: %v", err)
	}
	c.end()
	if n := c.spoiled(); n != 0 {
		t.Errorf("%d bytes placed", n)
	}
}

// rate returns the bytes per second that arrive during d. It calls tick each millisecond.
func (c *bulkTransfer) rate(d time.Duration, tick func(since time.Duration)) float64 {
	began, before := time.Now(), c.received()
	for now := began; now.Sub(began) < d; now = time.Now() {
		tick(now.Sub(began))
		time.Sleep(time.Millisecond - time.Since(now))
	}
	return float64(c.received()-before) / time.Since(began).Seconds()
}
