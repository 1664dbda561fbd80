package wait

import (
	"errors"
	"os"
)

// ErrLimit is in every error of a limit on peers. Startup and the driver have such limits.
var ErrLimit = errors.New("limit on peers")

// Timeout returns an error that wraps err and is a timeout as package net defines it. The error
// also matches os.ErrDeadlineExceeded.
func Timeout(err error) error { return &timeoutError{err} }

type timeoutError struct{ err error }

func (e *timeoutError) Error() string   { return e.err.Error() }
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }
func (e *timeoutError) Unwrap() []error { return []error{e.err, os.ErrDeadlineExceeded} }
