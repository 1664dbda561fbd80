package driver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// noDeadlines is a Stream whose reads no deadline can end, like the reads of an SSH channel.
type noDeadlines struct{ toe.Stream }

func (s noDeadlines) Capabilities() toe.Capabilities {
	c := s.Stream.Capabilities()
	c.Deadlines, c.Watch = false, toe.WatchNone
	return c
}
func (noDeadlines) SetReadDeadline(time.Time) error { return errors.ErrUnsupported }

// TestRoleStaysHomeWithoutDeadlines: if no Read may take the role, the home goroutine keeps it,
// however quick the Reads are. An echo then never waits for the alarm.
func TestRoleStaysHomeWithoutDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(noDeadlines{sa}, noDeadlines{sb})
		var never wait.Deadline
		go func() {
			p := make([]byte, 8)
			for {
				n, err := b.Read(p, &never)
				if err != nil {
					return
				}
				b.Write(p[:n], nil)
			}
		}()
		begin, p := time.Now(), make([]byte, 8)
		const echoes = 2 * trustFirst
		for range echoes {
			if _, err := a.Write(p, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Read(p, &never); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(begin); d >= alarmTime {
			t.Errorf("%d echoes took %v", echoes, d)
		}
		end(a)
		end(b)
		time.Sleep(time.Minute)
	})
}

// TestRoleIsOfferedToTheNextRead: a Read that begins to wait while the Read before it still has the
// role is offered the role when that Read returns.
func TestRoleIsOfferedToTheNextRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		r := &a.role
		exchange(t, a, b, 4)
		synctest.Wait()
		began := r.beginWait()
		if !r.take() {
			t.Fatal("somebody reads")
		}
		r.beginWait() // the second Read, which the inbox has let wait
		if r.take() {
			t.Fatal("two Reads have the role")
		}
		select {
		case <-r.offer.C(): // of the home goroutine
		default:
		}
		a.leaveRole()
		r.endWait(began)
		select {
		case <-r.offer.C():
		default:
			t.Error("the second Read does not look whether nobody reads")
		}
		if n := r.waiting.Load(); n != 1 {
			t.Errorf("%d Reads wait, want 1", n)
		}
		r.endWait(began)
		end(a)
		end(b)
		time.Sleep(time.Minute)
	})
}

// TestRoleWhileAWriteWaits: a Write that waits for TCP does not call the home goroutine to a free
// role, because it waits for no message of the peer. A Write that needs more credits than it has
// does, even if it waits for TCP at first, so it does not wait for the alarm.
func TestRoleWhileAWriteWaits(t *testing.T) {
	const size, window = 64 << 10, 32 // of streamPair
	for _, tt := range []struct {
		desc              string
		messages          int // after which the role is free
		sendDepth, length int
		home              bool // the home goroutine is called before the peer reads
	}{
		{"for TCP", 4, 0, 8 * size, false},
		{"for TCP, trusted", 3 * trustFirst, 0, 8 * size, false},
		{"for TCP, a short send queue", 4, 2, 8 * size, false},
		{"for credits", 4, 0, 2 * window * size, true},
		{"for credits, trusted", 3 * trustFirst, 0, 2 * window * size, true},
		{"for TCP, and has too few credits, trusted", 3 * trustFirst, 2, 2 * window * size, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				a, b, end := streamPairOf(sa, sb, tt.sendDepth)
				exchange(t, a, b, tt.messages)
				synctest.Wait()
				if !a.role.isVacant() {
					t.Fatal("somebody reads")
				}
				begin := time.Now()
				var never wait.Deadline
				go a.Write(make([]byte, tt.length), &never)
				synctest.Wait()
				if home := !a.role.isVacant(); home != tt.home {
					t.Errorf("the home goroutine has the role: %v, want %v", home, tt.home)
				}
				p := make([]byte, tt.length)
				for n := 0; n < len(p); {
					k, err := b.Read(p[n:], &never)
					if err != nil {
						t.Fatal(err)
					}
					n += k
				}
				if d := time.Since(begin); d > 0 {
					t.Errorf("the Write took %v", d)
				}
				end(a)
				end(b)
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCountsOfALateRead: the Totals include the bytes that a Read takes after the connection has
// ended.
func TestCountsOfALateRead(t *testing.T) {
	d := &Driver{}
	before, _, _, _ := counters.Totals()
	d.count.Enlist(nil)
	d.count.Retire(false)
	d.count.Add(counters.Direct, 100)
	d.count.Add(counters.Copied, 10)
	d.count.Add(counters.Direct, 1)
	after, _, _, _ := counters.Totals()
	if direct, copied := after[counters.Direct]-before[counters.Direct], after[counters.Copied]-before[counters.Copied]; direct != 101 || copied != 10 {
		t.Errorf("the Totals have %d bytes placed directly and %d copied, want 101 and 10", direct, copied)
	}
}
