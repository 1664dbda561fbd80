package fault

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A Liberty is something that the specification leaves to a device, and that programs forget: what
// works without it works by luck.
type Liberty uint8

// The liberties.
const (
	Work        Liberty = iota // work requests begin late
	Completions                // completions come late, in any order but that of their queue, and a few at a time
	Events                     // completion events come late
	Bytes                      // bytes are placed in any order
	RNR                        // a message that finds no receive is repeated after the RNR timer only
	GIDs                       // the GIDs are in another order
	Keys                       // the two keys of a memory region differ
	Undefined                  // what is undefined in a completion with an error is rubbish
	Sizes                      // the limits are those of small cards, and there is no more room than asked for
	liberties
)

var libertyNames = [liberties]string{"work", "completions", "events", "bytes", "rnr", "gids", "keys", "undefined", "sizes"}

// String returns the name of the liberty in a Plan.
func (l Liberty) String() string { return libertyNames[l] }

// LibertyNames returns the names of all liberties, sorted.
func LibertyNames() []string { return slices.Sorted(slices.Values(libertyNames[:])) }

// Liberties are those that a device takes.
type Liberties uint16

const allLiberties = 1<<liberties - 1

// add adds the liberty with a name, or takes it away if there is a minus in front of it. Without a
// name, it adds all.
func (s *Liberties) add(name string) error {
	if name == "" {
		*s = allLiberties
		return nil
	}
	name, less := strings.CutPrefix(name, "-")
	l := slices.Index(libertyNames[:], name)
	switch {
	case l < 0:
		return fmt.Errorf("there is no %q; there are %s", name, strings.Join(libertyNames[:], ", "))
	case less && *s == 0:
		*s = allLiberties
		fallthrough
	case less:
		*s &^= 1 << l
	default:
		*s |= 1 << l
	}
	return nil
}

// taken counts what a device has done by its liberties.
type taken struct {
	dice  [liberties]atomic.Uint64 // that were made
	times [liberties]atomic.Uint64
}

// Takes reports whether the device takes a liberty.
func (i *Injector) Takes(l Liberty) bool { return i != nil && i.plan.Liberties>>l&1 != 0 }

// Took notes that the device has done something by a liberty.
func (i *Injector) Took(l Liberty) { i.taken.times[l].Add(1) }

// Report logs what the device has done by its liberties, and the seed with which it does so again.
func (i *Injector) Report() {
	if i == nil || i.plan.Liberties == 0 {
		return
	}
	all := []any{slog.Uint64("seed", i.plan.Seed)}
	for l := range liberties {
		if i.Takes(l) {
			all = append(all, slog.Uint64(l.String(), i.taken.times[l].Load()))
		}
	}
	i.log.Warn("legal", all...)
}

// Dice decides for one object of a device, such as a queue. Its decisions follow from the seed, the
// liberty, and how many objects have got Dice for it before. One goroutine at a time may use it.
type Dice struct {
	r *rand.Rand
	i *Injector
	l Liberty
}

// Dice returns the Dice of another object, or nil if the device does not take the liberty.
func (i *Injector) Dice(l Liberty) *Dice {
	if !i.Takes(l) {
		return nil
	}
	return &Dice{rand.New(rand.NewPCG(i.plan.Seed, uint64(l)<<32|i.taken.dice[l].Add(1))), i, l}
}

const (
	soonDelay = 200 * time.Microsecond
	longDelay = 2 * time.Millisecond
)

// Delay returns how long something is held back: often not at all, and for longDelay at most.
func (d *Dice) Delay() (t time.Duration) {
	switch d.r.IntN(8) {
	case 0, 1, 2:
		return 0
	case 3:
		t = longDelay
	default:
		t = soonDelay
	}
	d.i.Took(d.l)
	return time.Duration(d.r.Int64N(int64(t)))
}

// Few returns how many of a large number of things are done at once.
func (d *Dice) Few() int { return 1 + d.r.IntN(4) }

// Shuffle puts n things in another order by swap.
func (d *Dice) Shuffle(n int, swap func(i, j int)) { d.r.Shuffle(n, swap) }

// A Part are the bytes of a whole from From up to To, without the latter.
type Part struct{ From, To int }

// word is the length in bytes of what is placed at once: an aligned word is never seen in part.
const word = 8

// Split divides n bytes into those that are placed at once, and those that are placed later. The
// first are never the beginning, since a program that takes the last bytes for a sign that the
// others are there gets away with that.
func (d *Dice) Split(n int) (now Part, later []Part) {
	if n <= word {
		return Part{0, n}, nil
	}
	d.i.Took(d.l)
	switch words := (n - 1) / word; d.r.IntN(4) {
	case 0:
		return Part{}, []Part{{0, n}}
	case 1: // a part in the middle
		from := word * (1 + d.r.IntN(words))
		to := from + 1 + d.r.IntN(n-from)
		later = []Part{{0, from}}
		if to < n {
			later = append(later, Part{to, n})
		}
		return Part{from, to}, later
	case 2: // the end
		from := word * (1 + d.r.IntN(words))
		return Part{from, n}, []Part{{0, from}}
	default: // the last word
		from := words * word
		return Part{from, n}, []Part{{0, from}}
	}
}

// Late holds things back. Things of one stream come out in the order in which they have come in. It
// is a value without lock, goroutine or clock.
type Late[T any] struct {
	things []lateThing[T] // in the order in which they come out, and are due
	after  time.Time      // when the next one may come out, even if it is due before
}

type lateThing[T any] struct {
	thing  T
	stream uint64
	due    time.Time
}

// Len returns how many things are held back.
func (l *Late[T]) Len() int { return len(l.things) }

// Add holds a thing of a stream back until due, and until those of its stream in front of it are
// out.
func (l *Late[T]) Add(x T, stream uint64, due time.Time) {
	at := len(l.things)
	for at > 0 && l.things[at-1].due.After(due) && l.things[at-1].stream != stream {
		at--
	}
	if at > 0 && l.things[at-1].due.After(due) {
		due = l.things[at-1].due
	}
	l.things = slices.Insert(l.things, at, lateThing[T]{x, stream, due})
}

// gap is the time between two takes, if the first leaves something that is due.
const gap = 50 * time.Microsecond

// Take takes what is due, but not more than most things. The others come out a little later.
func (l *Late[T]) Take(now time.Time, most int) (out []T) {
	if now.Before(l.after) {
		return nil
	}
	n := 0
	for n < min(len(l.things), most) && !l.things[n].due.After(now) {
		out = append(out, l.things[n].thing)
		n++
	}
	clear(l.things[:n])
	l.things = l.things[n:]
	if l.after = (time.Time{}); n == most && len(l.things) > 0 {
		l.after = now.Add(gap)
	}
	return out
}

// TakeAll takes everything.
func (l *Late[T]) TakeAll() (out []T) {
	for _, x := range l.things {
		out = append(out, x.thing)
	}
	*l = Late[T]{}
	return out
}

// Next returns when the next thing is due. ok is false if nothing is held back.
func (l *Late[T]) Next() (due time.Time, ok bool) {
	if len(l.things) == 0 {
		return due, false
	}
	if due = l.things[0].due; due.Before(l.after) {
		due = l.after
	}
	return due, true
}
