package badlink_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe/badlink"
)

// An arrival is the number of a packet and the time when it was read.
type arrival struct {
	number int
	at     time.Duration
}

// arrivals reads packets until the other end is closed.
func arrivals(t *testing.T, e *badlink.End, start time.Time) (list []arrival) {
	b := make([]byte, e.MTU())
	for {
		n, err := e.Read(b)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			return list
		}
		list = append(list, arrival{number(b[:n]), time.Since(start)})
	}
}

// TestSchedule: each packet arrives at the time that Rate, Delay and Queue give.
func TestSchedule(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		desc   string
		faults badlink.Faults
		gap    time.Duration // between two Writes of 1000 bytes
		want   []arrival     // of four packets
		drops  uint64
	}{
		{"at once", badlink.Faults{}, ms, []arrival{{0, 0}, {1, ms}, {2, 2 * ms}, {3, 3 * ms}}, 0},
		{"delay", badlink.Faults{Delay: 5 * ms}, ms, []arrival{{0, 5 * ms}, {1, 6 * ms}, {2, 7 * ms}, {3, 8 * ms}}, 0},
		{"rate", badlink.Faults{Rate: 8e6}, 0, []arrival{{0, ms}, {1, 2 * ms}, {2, 3 * ms}, {3, 4 * ms}}, 0},
		{"rate, idle between", badlink.Faults{Rate: 8e6}, 3 * ms, []arrival{{0, ms}, {1, 4 * ms}, {2, 7 * ms}, {3, 10 * ms}}, 0},
		{"rate and delay", badlink.Faults{Rate: 8e6, Delay: 5 * ms}, 0, []arrival{{0, 6 * ms}, {1, 7 * ms}, {2, 8 * ms}, {3, 9 * ms}}, 0},
		{"full queue", badlink.Faults{Rate: 8e6, Queue: 2}, 0, []arrival{{0, ms}, {1, 2 * ms}}, 2},
		{"what travels is not in the queue", badlink.Faults{Rate: 8e6, Queue: 1, Delay: 50 * ms}, ms,
			[]arrival{{0, 51 * ms}, {1, 52 * ms}, {2, 53 * ms}, {3, 54 * ms}}, 0},
		{"the queue empties slowly", badlink.Faults{Rate: 4e6, Queue: 2}, ms, []arrival{{0, 2 * ms}, {1, 4 * ms}, {2, 6 * ms}}, 1},
		{"held back for Hold", badlink.Faults{Reorder: 1, Hold: 7 * ms}, ms, []arrival{{0, 7 * ms}, {1, 8 * ms}, {2, 9 * ms}, {3, 10 * ms}}, 0},
		{"outages", badlink.Faults{BlackHole: badlink.Outages(ms, 2*ms)}, ms, []arrival{{0, 0}, {3, 3 * ms}}, 0},
		{"no outages", badlink.Faults{BlackHole: badlink.Outages(ms, 0)}, ms, []arrival{{0, 0}, {1, ms}, {2, 2 * ms}, {3, 3 * ms}}, 0},
		{"nothing but outages", badlink.Faults{BlackHole: badlink.Outages(0, ms)}, ms, nil, 0},
	} {
		t.Run(test.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				a, b := pipe(t, badlink.Config{AB: test.faults})
				go func() {
					for i := range 4 {
						a.Write(numbered(i, 1000))
						if i < 3 {
							time.Sleep(test.gap)
						}
					}
					if test.faults.Hold > 0 { // Close does not wait for Hold
						time.Sleep(test.faults.Hold)
					}
					a.Close()
				}()
				if got := arrivals(t, b, start); !slices.Equal(got, test.want) {
					t.Errorf("arrivals %v, want %v", got, test.want)
				}
				s := a.Stats()
				if balance(t, s); s.QueueDrops != test.drops {
					t.Errorf("%d packets were dropped, want %d", s.QueueDrops, test.drops)
				}
			})
		})
	}
}

// TestRateIsExact: 10,000 packets of all lengths take the time of their bits, rounded down once.
func TestRateIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, rate = 10_000, 7_777_777_777
		start := time.Now()
		a, b := pipe(t, badlink.Config{AB: badlink.Faults{Rate: rate, Queue: n}})
		r := rand.New(rand.NewPCG(1, 2))
		var bits int64
		go func() {
			for i := range n {
				length := 60 + r.IntN(1441)
				bits += int64(8 * length)
				a.Write(numbered(i, length))
			}
			a.Close()
		}()
		got := arrivals(t, b, start)
		if want := time.Duration(bits * 1e9 / rate); len(got) != n || got[n-1].at != want {
			t.Errorf("%d packets arrived, the last after %v, want %v", len(got), got[len(got)-1].at, want)
		}
	})
}

// TestJitter: packets keep their order, and each is late by Delay plus at most Jitter.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, delay, jitter, gap = 1000, 10 * time.Millisecond, 3 * time.Millisecond, 2 * time.Millisecond
		start := time.Now()
		a, b := pipe(t, badlink.Config{Seed: 9, AB: badlink.Faults{Delay: delay, Jitter: jitter}})
		go func() {
			for i := range n {
				a.Write(numbered(i, 60))
				time.Sleep(gap)
			}
			a.Close()
		}()
		var sum time.Duration
		for i, got := range arrivals(t, b, start) {
			late := got.at - time.Duration(i)*gap - delay
			if got.number != i || late < 0 || late > jitter {
				t.Fatalf("packet %d: %v, late by %v", i, got, late)
			}
			sum += late
		}
		if mean := sum / n; mean < jitter*4/10 || mean > jitter*6/10 {
			t.Errorf("the mean jitter is %v, want about %v", mean, jitter/2)
		}
	})
}

// TestReadQueue: packets that arrive while Queue packets wait for Read are dropped, even if no
// method is called in between.
func TestReadQueue(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{AB: badlink.Faults{Queue: 3, Delay: delay}})
			for i := range 5 {
				a.Write(numbered(i, 60))
				time.Sleep(time.Microsecond)
			}
			time.Sleep(delay)
			p := make([]byte, 100)
			if n, err := b.Read(p); err != nil || number(p[:n]) != 0 {
				t.Errorf("read packet %d, %v", number(p), err)
			}
			a.Write(numbered(5, 60))
			time.Sleep(delay)
			s := a.Stats()
			if balance(t, s); s.QueueDrops != 2 || s.Waiting != 3 {
				t.Errorf("%+v, want 2 drops and 3 packets that wait", s)
			}
		})
	}
}

// TestSetFaults: packets in the link keep their times and their order.
func TestSetFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		start := time.Now()
		a, b := pipe(t, badlink.Config{AB: badlink.Faults{Delay: 10 * ms}})
		a.Write(numbered(0, 1000))
		if err := a.SetFaults(badlink.Faults{}); err != nil {
			t.Fatal(err)
		}
		a.Write(numbered(1, 1000)) // does not overtake
		if err := a.SetFaults(badlink.Faults{Rate: 8e6, Delay: 20 * ms}); err != nil {
			t.Fatal(err)
		}
		a.Write(numbered(2, 1000))
		a.Close()
		got := arrivals(t, b, start)
		if want := []arrival{{0, 10 * ms}, {1, 10 * ms}, {2, 21 * ms}}; !slices.Equal(got, want) {
			t.Errorf("arrivals %v, want %v", got, want)
		}
	})
}

// TestClose: packets written before Close arrive, Reads end, and other calls fail.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delayed := badlink.Faults{Delay: time.Second, Reorder: 0.5, Hold: time.Hour}
		a, b := pipe(t, badlink.Config{AB: delayed, BA: delayed})
		p := make([]byte, 100)
		result := make(chan error)
		go func() {
			_, err := a.Read(p)
			result <- err
		}()
		synctest.Wait()
		start := time.Now()
		for i := range 5 {
			a.Write(numbered(i, 60))
			b.Write(numbered(i, 60))
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := <-result; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the Read that waited returned %v, want %v", err, net.ErrClosed)
		}
		if _, err := a.Write(p); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write returned %v, want %v", err, net.ErrClosed)
		}
		if err := a.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the second Close returned %v, want %v", err, net.ErrClosed)
		}
		if n, err := b.Write(p); n != len(p) || err != nil {
			t.Errorf("Write to an end whose peer is closed returned %d, %v", n, err)
		}
		if got := arrivals(t, b, start); len(got) != 5 || got[4].at != time.Second {
			t.Errorf("arrivals %v, want 5 until %v", got, time.Second)
		}
		balance(t, a.Stats())
		s := b.Stats()
		if balance(t, s); s.QueueDrops+uint64(s.Waiting) != 6 {
			t.Errorf("%+v, want that no packet was read", s)
		}
	})
}

// TestEarlierArrival: a Read that waits for a packet that is held back is woken by a packet that
// arrives earlier.
func TestEarlierArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a, b := pipe(t, badlink.Config{AB: badlink.Faults{Reorder: 1, ReorderBy: 1, Hold: time.Hour, Delay: time.Second}})
		result := make(chan []arrival)
		go func() { result <- arrivals(t, b, start) }()
		synctest.Wait()
		a.Write(numbered(0, 60)) // now the Read waits for an hour
		if err := a.SetFaults(badlink.Faults{Delay: time.Second}); err != nil {
			t.Fatal(err)
		}
		a.Write(numbered(1, 60))
		time.Sleep(2 * time.Second)
		a.Close()
		if got, want := <-result, []arrival{{1, time.Second}, {0, time.Second}}; !slices.Equal(got, want) {
			t.Errorf("arrivals %v, want %v", got, want)
		}
	})
}

// TestLateLook: events that were due while no method was called took effect at their due times.
func TestLateLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a, b := pipe(t, badlink.Config{AB: badlink.Faults{Reorder: 1, Hold: 5 * time.Second, Delay: 10 * time.Second}})
		a.Write(numbered(0, 60))
		time.Sleep(12 * time.Second)
		if s := a.Stats(); s.Waiting != 1 {
			t.Errorf("%+v, want a packet that waits", s)
		}
		p := make([]byte, 100)
		if _, err := b.Read(p); err != nil || time.Since(start) != 15*time.Second {
			t.Errorf("the packet arrived after %v, %v, want 15 s", time.Since(start), err)
		}
	})
}

// TestReaders: each of many Reads that wait gets one packet.
func TestReaders(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			const n = 20
			a, b := pipe(t, badlink.Config{AB: badlink.Faults{Delay: delay}})
			numbers := make(chan int)
			for range n {
				go func() {
					p := make([]byte, 100)
					m, err := b.Read(p)
					if err != nil {
						t.Error(err)
					}
					numbers <- number(p[:m])
				}()
			}
			synctest.Wait()
			for i := range n {
				a.Write(numbered(i, 60))
				time.Sleep(time.Millisecond)
			}
			seen := make([]bool, n)
			for range n {
				seen[<-numbers] = true
			}
			if slices.Contains(seen, false) {
				t.Errorf("read %v", seen)
			}
		})
	}
}

func TestReadShortBuffer(t *testing.T) {
	a, b := pipe(t, badlink.Config{})
	a.Write(numbered(3, 60))
	p := make([]byte, 60)
	if n, err := b.Read(p[:59]); n != 0 || !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("Read returned %d, %v, want %v", n, err, io.ErrShortBuffer)
	}
	if s := a.Stats(); s.Waiting != 1 {
		t.Fatalf("%+v, want a packet that waits", s)
	}
	if n, err := b.Read(p); n != 60 || err != nil || number(p) != 3 {
		t.Errorf("the next Read returned %d, %v, want the packet", n, err)
	}
}

// TestShortReadWakesAnother: a packet that does not fit one of two Reads that wait goes to the
// other one.
func TestShortReadWakesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pipe(t, badlink.Config{})
		reads := make(chan error, 2)
		for _, room := range []int{59, 60} { // the Read that waited first is woken first
			go func() {
				_, err := b.Read(make([]byte, room))
				reads <- err
			}()
			synctest.Wait()
		}
		a.Write(numbered(3, 60))
		synctest.Wait()
		if len(reads) != 2 || a.Stats().Out != 1 {
			t.Fatalf("%d Reads have returned: %+v", len(reads), a.Stats())
		}
		if err := errors.Join(<-reads, <-reads); !errors.Is(err, io.ErrShortBuffer) {
			t.Errorf("the Reads returned %v, want %v from one of them", err, io.ErrShortBuffer)
		}
	})
}

func TestWriteLength(t *testing.T) {
	a, _ := pipe(t, badlink.Config{MTU: 576})
	for _, n := range []int{0, 577} {
		if m, err := a.Write(make([]byte, n)); m != 0 || !errors.Is(err, badlink.ErrPacketLength) {
			t.Errorf("Write of %d bytes returned %d, %v, want %v", n, m, err, badlink.ErrPacketLength)
		}
	}
	if m, err := a.Write(make([]byte, 576)); m != 576 || err != nil {
		t.Errorf("Write of 576 bytes returned %d, %v", m, err)
	}
	if s := a.Stats(); s.In != 1 || s.InBytes != 576 || a.MTU() != 576 {
		t.Errorf("%+v, MTU %d", s, a.MTU())
	}
}
