package admission

import (
	"errors"
	"fmt"
)

// ErrDisplaced means that a newer connection has taken the place of another one. The errors below
// match it.
var ErrDisplaced = errors.New("a newer connection took the place of this one")

var (
	// ErrQuiet is the error of a quiet connection.
	ErrQuiet = fmt.Errorf("%w, whose peer had sent nothing", ErrDisplaced)
	// ErrShare is the error of a connection whose place was lent.
	ErrShare = fmt.Errorf("%w, which was beyond the share of its address", ErrDisplaced)
)
