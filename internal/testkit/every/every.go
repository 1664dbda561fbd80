// Package every lets a test make choices, and runs it once for every combination of them. A test
// that draws from Choices reads like a random one, but leaves nothing to chance and nothing out:
//
//	var c every.Choices
//	for c.Next() {
//		first, second := events[c.Of(len(events))], events[c.Of(len(events))]
//		…
//	}
//
// What one choice was may decide how many follow it, and between how many.
package every

import "fmt"

// Choices are the choices of one run. The zero value is ready for the first Next. It is for one
// goroutine.
type Choices struct {
	made  []choice // those of this run, and what is left of the run before
	taken int      // so many of them have been made in this run
	begun bool
}

// A choice is one of 0 … of-1.
type choice struct{ value, of int }

// Next begins the next run, and reports whether there is one. Each run differs from all before it
// in at least one choice.
func (c *Choices) Next() bool {
	if !c.begun {
		c.begun = true
		return true
	}
	c.made = c.made[:c.taken]
	c.taken = 0
	for n := len(c.made); n > 0; n-- {
		last := &c.made[n-1]
		if last.value++; last.value < last.of {
			return true
		}
		c.made = c.made[:n-1]
	}
	return false
}

// Of makes a choice between n values, and returns it: 0 … n-1. It panics if n is less than 1, and
// if a run that made the same choices before this one had another n here: then something else than
// its choices decides what the test does.
func (c *Choices) Of(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("BUG: a choice between %d values", n))
	}
	if c.taken == len(c.made) {
		c.made = append(c.made, choice{of: n})
	}
	made := c.made[c.taken]
	if made.of != n {
		panic(fmt.Sprintf("BUG: choice %d was between %d values, and is now between %d", c.taken, made.of, n))
	}
	c.taken++
	return made.value
}

// String returns the choices made so far in this run, for a failure to print.
func (c *Choices) String() string {
	values := make([]int, c.taken)
	for i := range values {
		values[i] = c.made[i].value
	}
	return fmt.Sprint(values)
}
