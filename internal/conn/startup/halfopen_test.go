package startup

import (
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestBadSTagDelayIsBounded: a Door remembers at most 1024 addresses, and delays each by at most a
// minute.
func TestBadSTagDelayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		addr := func(i int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, byte(i>>16), byte(i>>8), byte(i))} }
		d := NewDoor(4096, time.Second)
		for i := range 5000 {
			d.Penalize(addr(i))
		}
		if n := d.Remembered(); n != 1024 {
			t.Errorf("%d addresses are remembered, want 1024", n)
		}
		if d.Delay(addr(4999)) != time.Second || d.Delay(addr(4999-1023)) != time.Second || d.Delay(addr(4999-1024)) > 0 {
			t.Error("it is not the last 1024 that wait")
		}
		for range 1000 {
			d.Penalize(addr(1))
		}
		if w := d.Delay(addr(1)); w != time.Minute {
			t.Errorf("after 1000 bad STags an address waits %v, want 1m", w)
		}
		six := func(s string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(s), Port: 1} }
		d.Penalize(six("2001:db8:1:2::3"))
		if d.Delay(six("2001:db8:1:2:ffff::")) <= 0 || d.Delay(six("2001:db8:1:3::")) > 0 {
			t.Error("IPv6 is not known by its /64")
		}
		if d.Penalize(&net.UnixAddr{Name: "@"}); d.Delay(&net.UnixAddr{Name: "@"}) > 0 {
			t.Error("a unix socket waits")
		}
	})
}

// TestLongBadSTagDelay: a delay of any length works, up to what a time.Duration can hold, and
// further bad STags do not make it shorter.
func TestLongBadSTagDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		for _, delay := range []time.Duration{year, 4 * year, 5 * year, 1 << 62, math.MaxInt64} {
			d := NewDoor(1, delay)
			a := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}
			last := min(delay, 4*year) - 1
			for i := range 2 * maxDelays {
				d.Penalize(a)
				now := d.Delay(a)
				if now <= last && i < maxDelays || now < last {
					t.Fatalf("delay %v: after %d bad STags an address waits %v, and %v before", delay, i+1, now, last)
				}
				last = now
			}
		}
		none := NewDoor(1, math.MinInt64)
		none.Penalize(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)})
		if none.Remembered() != 0 {
			t.Error("a negative delay delays")
		}
	})
}

// TestOldestIsEvicted: if there are too many half-open connections, the oldest of them is evicted,
// and no other one.
func TestOldestIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDoor(2, 0)
		var woken []int
		var in []*halfOpen
		enter := func() {
			i := len(in)
			h := d.enter(nil)
			h.whenEvicted(func() { woken = append(woken, i) })
			in = append(in, h)
			synctest.Wait()
		}
		before := HalfOpenEvictions()
		enter()
		enter()
		in[0].leave() // so the next one finds a place
		enter()
		if len(woken) > 0 {
			t.Errorf("%v evicted while there was a place", woken)
		}
		enter() // the oldest is the second now
		in[2].whenEvicted(nil)
		enter()
		for i, want := range []bool{false, true, true, false, false} {
			if got := in[i].isEvicted(); got != want {
				t.Errorf("connection %d: evicted %t, want %t", i, got, want)
			}
		}
		if len(woken) != 1 || woken[0] != 1 {
			t.Errorf("%v were woken, want the second alone", woken)
		}
		in[2].whenEvicted(func() { woken = append(woken, 2) }) // too late, so at once
		synctest.Wait()
		if len(woken) != 2 {
			t.Errorf("a wake that comes after the eviction does not run")
		}
		for _, h := range in {
			h.leave()
			<-h.done()
			h.leave()
		}
		if n := HalfOpenEvictions() - before; n != 2 {
			t.Errorf("%d evictions counted, want 2", n)
		}
		for _, d := range []*Door{nil, NewDoor(-1, 0)} {
			h := d.enter(nil)
			h.whenEvicted(func() { t.Error("evicted without a limit") })
			if h.isEvicted() || h.done() != nil {
				t.Error("a Door without a limit counts")
			}
			h.leave()
		}
	})
}

// TestEachBadSTagDelays: a bad STag delays the address whenever it comes: while the previous delay
// lasts, or long after that.
func TestEachBadSTagDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 5 * time.Second
		d := NewDoor(1, delay)
		a := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
		want := func(when string, want time.Duration) {
			t.Helper()
			if got := max(d.Delay(a), 0); got != want {
				t.Errorf("%s: Delay = %v, want %v", when, got, want)
			}
		}
		want("at first", 0)
		for round := range 3 {
			d.Penalize(a)
			want("after one bad STag", delay)
			time.Sleep(delay - time.Second)
			d.Penalize(a)
			d.Penalize(a)
			want("after two more, a second before the end", 2*delay+time.Second)
			time.Sleep(2*delay + time.Second)
			want("at the end", 0)
			if n := d.Remembered(); n != 1 {
				t.Errorf("round %d: %d addresses are remembered, want one", round, n)
			}
			time.Sleep(time.Hour)
		}
	})
}
