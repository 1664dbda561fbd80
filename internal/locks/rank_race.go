//go:build race

package locks

import (
	"fmt"
	"reflect"
)

// A rank is the number of a Rank in order: a goroutine locks in ascending order.
type rank uint8

// ranks maps each Rank to its rank. It never changes.
var ranks = func() map[any]rank {
	m := make(map[any]rank)
	for i, r := range order {
		m[r] = rank(i)
	}
	return m
}()

func rankOf[R Rank]() rank {
	var r R
	n, ok := ranks[r]
	if !ok {
		panic(fmt.Sprintf("BUG: %T is not in the order of locks", r))
	}
	return n
}

func (r rank) String() string { return reflect.TypeOf(order[r]).Name() }
