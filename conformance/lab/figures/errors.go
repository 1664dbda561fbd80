package main

import "fmt"

// An InputError identifies the wrong line of the input.
type InputError struct {
	Line   int // from 1; 0 if it is about the whole input
	Reason string
	Err    error // or nil
}

func (e *InputError) Error() string {
	text := e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", e.Line, text)
}

func (e *InputError) Unwrap() error { return e.Err }
