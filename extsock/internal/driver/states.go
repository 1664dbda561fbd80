package driver

import "fmt"

// A states says which states may follow each state: bit t of entry s is set if t may follow s.
type states []uint8

// become changes a state, and panics if the table has no arrow for that. It is called in one place
// for each kind of state.
func become[S interface {
	~uint8
	fmt.Stringer
}](now *S, next S, table states) {
	if table[*now]>>next&1 == 0 {
		panic(noArrow{*now, next})
	}
	*now = next
}

// A noArrow is the panic value for a change that the table does not have. It makes its text when it is
// printed, so that the compiler inlines become.
type noArrow struct{ now, next fmt.Stringer }

func (n noArrow) Error() string { return fmt.Sprintf("BUG: %T: %v becomes %v", n.next, n.now, n.next) }
