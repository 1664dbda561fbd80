package driver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/every"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// machineStates are the states in which every pair of events is tried. Each of events, which lead
// to the state, is the name of an end and of an event.
var machineStates = []struct {
	name   string
	events []string
}{
	{"nothing has arrived", nil},
	{"open", []string{"B all arrives"}},
	{"a Read waits", []string{"B all arrives", "B a short Read"}},
	{"a long Read waits and receives", []string{"B all arrives", "B a long Read that receives"}},
	{"data is unread", []string{"B all arrives", "A a short Write", "B all arrives"}},
	{"a message has begun", []string{"B all arrives", "A a short Write", "B half arrives"}},
	{"a Read has got a part", []string{"B all arrives", "B a short Read that receives", "A a short Write", "B all arrives"}},
	{"TCP takes nothing more", []string{"B all arrives", "A TCP takes nothing", "A a short Write", "A an RDMA Write"}},
	{"TCP has taken a part", []string{"B all arrives", "A TCP takes nothing", "A a Write of many messages", "A TCP takes 100 bytes"}},
	{"a Write waits for credits", []string{"B all arrives", "A a Write of many messages", "B all arrives"}},
	{"an offer is under way", []string{"B all arrives", "B a long Read", "A a Write that is offered"}},
	{"the peer's memory is granted", []string{"B all arrives", "B a long Read", "A TCP takes 100 bytes", "A a Write that is offered", "B all arrives", "A all arrives"}},
	{"Reads and an atomic are under way", []string{"B all arrives", "A an RDMA Read", "A an atomic"}},
	{"a blocking call is under way", []string{"B all arrives", "A TCP takes nothing", "A a blocking RDMA Write"}},
	{"the peer has closed its way out", []string{"B all arrives", "A CloseWrite", "B all arrives"}},
	{"the peer closes", []string{"B all arrives", "A a short Write", "A Close"}},
	{"the peer has closed", []string{"B all arrives", "A Close", "B all arrives"}},
	{"the peer is gone", []string{"B all arrives", "A a kill", "B all arrives"}},
}

// eventNamed returns the event with this name.
func eventNamed(t *testing.T, name string) machineEvent {
	t.Helper()
	for _, ev := range machineEvents {
		if ev.name == name {
			return ev
		}
	}
	t.Fatalf("there is no event %q", name)
	return machineEvent{}
}

// lead brings m to a state.
func lead(t *testing.T, m *machine, events []string) error {
	t.Helper()
	for _, s := range events {
		end, name, _ := strings.Cut(s, " ")
		if err := m.apply(int(end[0]-'A'), eventNamed(t, name)); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryPairOfEvents tries every event at each end, in every state, and every other event after
// it, at the same end and at the other one. So each pair comes in both orders. The invariants are
// checked after each step. Then every call must return, and the connection must end.
func TestEveryPairOfEvents(t *testing.T) {
	defer collectSeldom()()
	for _, framed := range []bool{true, false} {
		for _, state := range machineStates {
			t.Run(fmt.Sprintf("byte stream %t/%s", framed, state.name), func(t *testing.T) {
				var c every.Choices
				runs := 0
				for c.Next() {
					first, firstEnd := machineEvents[c.Of(len(machineEvents))], c.Of(2)
					second, secondEnd := machineEvents[c.Of(len(machineEvents))], c.Of(2)
					if runs%testmode.Rounds(1, 97) != 0 { // a part of them; 97 divides none of the numbers of choices
						runs++
						continue
					}
					m := newMachine(framed)
					err := lead(t, m, state.events)
					if err == nil {
						err = m.apply(firstEnd, first)
					}
					if err == nil {
						err = m.apply(secondEnd, second)
					}
					if err == nil {
						err = m.end()
					}
					if err != nil {
						t.Fatalf("%v, after\n\t%s", err, strings.Join(m.log, "\n\t"))
					}
					runs++
				}
				if want := 4 * len(machineEvents) * len(machineEvents); runs != want {
					t.Errorf("%d pairs, want %d", runs, want)
				}
			})
		}
	}
}

// collectSeldom lets the garbage collector run only when 256 MiB are in use, until restore is
// called. Each run of a machine allocates much, and almost all of it is garbage soon.
func collectSeldom() (restore func()) {
	limit, percent := debug.SetMemoryLimit(256<<20), debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// TestRowsThatHaveFailed tries the rows of events in which TestRandomEvents has found faults.
func TestRowsThatHaveFailed(t *testing.T) {
	for _, row := range [][]string{
		{"B an RDMA Read", "B Close", "B the connection is reset"}, // Close waited for the close timeout
	} {
		for _, framed := range []bool{true, false} {
			m := newMachine(framed)
			err := lead(t, m, row)
			if err == nil {
				err = m.end()
			}
			if err != nil {
				t.Errorf("byte stream %t, %q: %v", framed, row, err)
			}
		}
	}
}

// TestRandomEvents tries long random rows of events. A failure prints the shortest row that it
// finds by leaving events out.
func TestRandomEvents(t *testing.T) {
	defer collectSeldom()()
	seed, more := randomRuns(t, 3000)
	for n := 0; more(n); n++ {
		framed := n%2 == 0
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		var row []machineStep
		for range r.IntN(60) {
			row = append(row, machineStep{r.IntN(2), r.IntN(len(machineEvents))})
		}
		err := runRow(framed, row)
		if err == nil {
			continue
		}
		for i := 0; i < len(row); {
			shorter := append(append([]machineStep(nil), row[:i]...), row[i+1:]...)
			if e := runRow(framed, shorter); e != nil {
				row, err = shorter, e
				continue
			}
			i++
		}
		t.Fatalf("RDDP_SEED=%d, run %d, byte stream %t: %v, after %d events:\n%s", seed, n, framed, err, len(row), showRow(row))
	}
}

// randomRuns returns the seed of a random test, and a function that reports whether to do run n. It
// allows the given number of runs, or a tenth of it under the race detector, or as many as SOAKTIME
// has time for. RDDP_SEED in the environment sets the seed.
func randomRuns(t *testing.T, runs int) (seed uint64, more func(n int) bool) {
	t.Helper()
	seed = rand.Uint64()
	if s := os.Getenv("RDDP_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("RDDP_SEED: %v", err)
		}
	}
	runs = testmode.Rounds(runs, runs/30)
	more = func(n int) bool { return n < runs }
	if s := os.Getenv("SOAKTIME"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("SOAKTIME: %v", err)
		}
		until := time.Now().Add(d)
		more = func(int) bool { return time.Now().Before(until) }
	}
	return seed, more
}

// A machineStep is an event at an end.
type machineStep struct{ end, event int }

func runRow(framed bool, row []machineStep) error {
	m := newMachine(framed)
	for _, s := range row {
		if err := m.apply(s.end, machineEvents[s.event]); err != nil {
			return err
		}
	}
	return m.end()
}

func showRow(row []machineStep) string {
	var b strings.Builder
	for _, s := range row {
		fmt.Fprintf(&b, "\t%c: %s\n", 'A'+s.end, machineEvents[s.event].name)
	}
	return b.String()
}
