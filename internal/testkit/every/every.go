// Package every runs a test once for each combination of the choices that it makes. A test that
// draws from Choices reads like a random one, but covers every case, and only once:
//
//	var c every.Choices
//	for c.Next() {
//		first, second := events[c.Of(len(events))], events[c.Of(len(events))]
//		…
//	}
//
// How many choices follow, and between how many values, may depend on the choices before.
package every

import "fmt"

// Choices are the choices of one run. The zero value is ready for the first Next. Only one
// goroutine may use it.
type Choices struct {
	made  []choice // those of this run, then the rest of the previous run's
	taken int      // how many have been made in this run
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

// Of makes a choice between n values and returns it, 0 … n-1. It panics if n is less than 1. It
// also panics if n differs from that of an earlier run with the same choices so far: then the test
// depends on something besides its choices.
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

// String returns the choices made so far in this run, for failure messages.
func (c *Choices) String() string {
	values := make([]int, c.taken)
	for i := range values {
		values[i] = c.made[i].value
	}
	return fmt.Sprint(values)
}
