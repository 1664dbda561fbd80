package softrnic

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A lifeEvent is something that happens to a queue pair. do returns false if the event comes too
// late according to the life, or if it has no effect.
type lifeEvent struct {
	name string
	do   func(v *lifeUnderTest) bool
}

// A lifeUnderTest is a life, and the state that a queue pair would keep beside it.
type lifeUnderTest struct {
	life
	link     bool   // there is a link
	settling bool   // its work requests complete
	begun    uint64 // the number under which a connection, or a join that was put off, was begun
	timer    uint64 // 1 more than the number of the wait whose time has come; it may be over
}

// modifies returns the event that the program takes the queue pair to a state.
func modifies(to uverbs.State) lifeEvent {
	return lifeEvent{"the program: " + to.String(), func(v *lifeUnderTest) bool {
		from := v.seen()
		if v.join == leaving || v.join == destroyed || !stateNext.Has(from, to) || from == uverbs.Reset && to != uverbs.Init || to == uverbs.Reset || to == uverbs.Err {
			return false
		}
		if v.isAhead() {
			v.follows(to)
			return true
		}
		v.setState(to)
		v.begun = v.number
		return true
	}}
}

var lifeEvents = []lifeEvent{
	modifies(uverbs.Init), modifies(uverbs.RTR), modifies(uverbs.RTS), modifies(uverbs.SQD),
	{"it is joined, and dials", joinsBy(true)},
	{"it is joined, and the peer dials", joinsBy(false)},
	{"a connection begins", func(v *lifeUnderTest) bool {
		may := v.mayStart(v.number)
		if may {
			v.begun = v.number
		}
		return may
	}},
	{"it is linked", func(v *lifeUnderTest) bool {
		if !v.mayStart(v.begun) {
			return false
		}
		v.links()
		v.link = true
		return true
	}},
	{"a manager connects it", func(v *lifeUnderTest) bool {
		if !v.mayManage(v.begun) {
			return false
		}
		v.manages(&uverbs.Attributes{}, false)
		v.link = true
		return true
	}},
	{"work is posted", func(v *lifeUnderTest) bool {
		waits := v.posted() != 0
		if waits {
			v.timer = v.number + 1
		}
		return waits
	}},
	{"a wait is over", func(v *lifeUnderTest) bool { return v.timer != 0 && v.waited(v.timer-1) }},
	{"the peer leaves", func(v *lifeUnderTest) bool {
		if v.link && v.join == up {
			v.misses()
			return true
		}
		return false
	}},
	{"it is lost", func(v *lifeUnderTest) bool {
		if !v.link {
			return false
		}
		v.loses()
		v.link, v.settling = false, true
		return true
	}},
	{"it fails", func(v *lifeUnderTest) bool {
		if v.fails() == nil {
			return false
		}
		v.link, v.settling = false, v.settling || v.link
		return true
	}},
	{"it is settled", func(v *lifeUnderTest) bool {
		if !v.settling {
			return false
		}
		v.life.settled()
		v.settling = false
		return true
	}},
	{"it is reset", func(v *lifeUnderTest) bool {
		if v.join == leaving || v.join == destroyed {
			return false
		}
		v.resets()
		v.link = false
		return true
	}},
	{"it is destroyed", func(v *lifeUnderTest) bool {
		if v.attrs.State != uverbs.Reset || v.join != unjoined {
			return false
		}
		v.destroys()
		return true
	}},
	{"it has left", func(v *lifeUnderTest) bool {
		if v.join != leaving || v.settling {
			return false
		}
		v.left()
		return true
	}},
}

func joinsBy(dials bool) func(v *lifeUnderTest) bool {
	return func(v *lifeUnderTest) bool {
		if v.attrs.State < uverbs.RTR || v.attrs.State > uverbs.SQD || !v.mayJoin(v.begun) {
			return false
		}
		v.joins(dials)
		return true
	}
}

// check returns an error if something that must hold after each event does not.
func (v *lifeUnderTest) check() error {
	s, linked := v.attrs.State, v.isLinked()
	switch {
	case v.link != linked:
		return fmt.Errorf("it has a link: %v", v.link)
	case v.settling && !v.isEnding():
		return fmt.Errorf("work requests of the last link complete")
	case v.isEnding() && v.join != leaving && !v.settling:
		return fmt.Errorf("nothing completes any more")
	case (v.join == failing || v.join == gone) != (s == uverbs.Err):
		return fmt.Errorf("the state is %v", s)
	case (v.join == leaving || v.join == destroyed) && s != uverbs.Reset:
		return fmt.Errorf("the state is %v", s)
	case (v.join != unjoined && v.join != leaving && v.join != destroyed) && s < uverbs.RTR:
		return fmt.Errorf("the state is %v", s)
	case v.waits && !v.isIn(unjoined, expecting, dialing):
		return fmt.Errorf("work requests wait for a link")
	case s == uverbs.Err && !v.settling && v.turn() != turnFlush, s == uverbs.RTS && linked && v.turn() != turnSend:
		return fmt.Errorf("work requests get %d", v.turn())
	case v.settling && v.turn() > turnEarly: // work requests behind them would complete first
		return fmt.Errorf("work requests get %d", v.turn())
	}
	return nil
}

// A lifeKey is a lifeUnderTest in which each number is replaced by whether it is the present one.
type lifeKey struct {
	join               joinState
	state, told        uverbs.State
	managed, waits     bool
	link, settling     bool
	fresh, begun, late bool
}

func (v *lifeUnderTest) key() lifeKey {
	return lifeKey{
		v.join, v.attrs.State, v.told, v.managed, v.waits, v.link, v.settling,
		v.begun == v.number, v.timer != 0, v.timer != 0 && v.timer != v.number+1,
	}
}

// TestLife: every event in every state that a queue pair can reach, and so every pair of events in
// both orders. No event breaks a table, and check finds no error.
func TestLife(t *testing.T) {
	seen := make(map[lifeKey]bool)
	var happened, late, pairs int
	reached := make(map[joinState]bool)
	arrows := make(map[[2]joinState]bool)
	todo := []lifeUnderTest{{life: life{kind: uverbs.UC}}}
	seen[todo[0].key()] = true
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		reached[v.join] = true
		for _, first := range lifeEvents {
			one := v
			if !apply(t, &v, &one, first) {
				late++
				continue
			}
			happened++
			arrows[[2]joinState{v.join, one.join}] = true
			if !seen[one.key()] {
				seen[one.key()] = true
				todo = append(todo, one)
			}
			for _, second := range lifeEvents {
				two := one
				apply(t, &one, &two, second)
				pairs++
			}
		}
	}
	for s := unjoined; s <= destroyed; s++ {
		if !reached[s] {
			t.Errorf("nothing leads to %v", s)
		}
		for next := unjoined; next <= destroyed; next++ {
			if joinNext.Has(s, next) && !arrows[[2]joinState{s, next}] {
				t.Errorf("nothing leads from %v to %v", s, next)
			}
		}
	}
	t.Logf("%d states, %d events, %d that came too late, %d pairs", len(seen), happened, late, pairs)
}

// apply makes an event happen to v, a copy of from.
func apply(t *testing.T, from, v *lifeUnderTest, e lifeEvent) bool {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%v in %v, %+v: %v", e.name, from.join, from.key(), r)
		}
	}()
	happened := e.do(v)
	if err := v.check(); err != nil {
		t.Fatalf("%v in %v, %+v: it is %v, and %v", e.name, from.join, from.key(), v.join, err)
	}
	return happened
}
