package driver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe/simtoe"
)

// sharing returns n vacant roles with one alarmList. A role that calls home notes the time since
// now in rang, which is 0 until then.
func sharing(n int) (roles []*role, rang []time.Duration) {
	shared, begin := new(alarmList), time.Now()
	roles, rang = make([]*role, n), make([]time.Duration, n)
	for i := range roles {
		s, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		r := new(role)
		r.init(s, nil, new(wait.Cell), nil)
		r.alarms, roles[i] = shared, r
		r.now.Store(uint32(reading(byNobody) | alarmSet))
		go func() {
			r.gate.Wait()
			rang[i] = time.Since(begin)
		}()
	}
	return roles, rang
}

// TestAlarms: each alarm rings when it is due, or at most alarmSlack earlier, together with another
// one. That does not depend on the order in which they are set.
func TestAlarms(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		desc      string
		due, want []time.Duration // in the order in which they are set
	}{
		{"one", []time.Duration{5 * ms}, []time.Duration{5 * ms}},
		{"together", []time.Duration{5 * ms, 5*ms + alarmSlack, 6*ms + alarmSlack}, []time.Duration{5 * ms, 5 * ms, 6*ms + alarmSlack}},
		{"postponed", []time.Duration{5 * ms, 10 * ms, 20 * ms, 15 * ms}, []time.Duration{5 * ms, 10 * ms, 20 * ms, 15 * ms}},
		{"before the first", []time.Duration{10 * ms, 5 * ms}, []time.Duration{10 * ms, 5 * ms}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				roles, rang := sharing(len(tt.due))
				begin := sinceStart()
				for i, r := range roles {
					r.left.Store(int64(begin - slowWait)) // nothing is early
					r.alarms.set(r, begin+tt.due[i])
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if !slices.Equal(rang, tt.want) {
					t.Errorf("due at %v: rang at %v, want %v", tt.due, rang, tt.want)
				}
				for _, r := range roles {
					r.gate.Open()
				}
			})
		})
	}
}

// TestAlarmsStop: an alarm that is stopped does not ring, whichever place it has in the list, and
// the others do. No timer is left when all are stopped.
func TestAlarmsStop(t *testing.T) {
	for _, stopped := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 1}, {0, 2}, {1, 0, 2}} {
		bubble(t, func(t *testing.T) {
			roles, rang := sharing(3)
			a := roles[0].alarms
			for i, r := range roles {
				r.left.Store(int64(sinceStart() - slowWait))
				a.set(r, sinceStart()+time.Duration(i+1)*alarmTime)
			}
			for _, i := range stopped {
				if !a.stop(roles[i]) || a.stop(roles[i]) {
					t.Errorf("stopped %v: %d is not there, or still is", stopped, i)
				}
			}
			a.mu.Lock()
			if left := a.timer.Stop(); left != (len(stopped) < 3) {
				t.Errorf("stopped %v: a timer is left: %v", stopped, left)
			} else if left {
				a.timer.Reset(alarmTime)
			}
			a.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			for i, r := range roles {
				if did, want := rang[i] != 0, !slices.Contains(stopped, i); did != want {
					t.Errorf("stopped %v: alarm %d has rung: %v, want %v", stopped, i, did, want)
				}
				if a.stop(r) {
					t.Errorf("stopped %v: alarm %d is still there", stopped, i)
				}
				r.gate.Open()
			}
		})
	}
}

// TestAlarmsOfABubble: a timer of a bubble must not be shared with goroutines outside.
func TestAlarmsOfABubble(t *testing.T) {
	if alarmsFor(sinceStart()) != &processAlarms {
		t.Error("the process has no alarms of its own")
	}
	bubble(t, func(t *testing.T) {
		if alarmsFor(sinceStart()) == &processAlarms {
			t.Error("a bubble uses the alarms of the process")
		}
	})
}
