package main

import "fmt"

// A notInstalledError names a missing tool that is needed.
type notInstalledError struct {
	Tool    string
	Package string // of Debian
}

func (e *notInstalledError) Error() string {
	return fmt.Sprintf("%s is not installed; Debian's package %s has it", e.Tool, e.Package)
}

// An outputError means that the output of a tool was not understood.
type outputError struct {
	Tool   string
	Reason string
}

func (e *outputError) Error() string { return e.Tool + ": " + e.Reason }

func wrongOutput(tool, format string, args ...any) error {
	return &outputError{tool, fmt.Sprintf(format, args...)}
}

// A processError says how a process of a run failed.
type processError struct {
	Command string
	Err     error  // of the process, or context.DeadlineExceeded
	Stderr  string // the last line that the process wrote
}

func (e *processError) Error() string {
	text := e.Command + ": " + e.Err.Error()
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

func (e *processError) Unwrap() error { return e.Err }

// A runError identifies the run that failed.
type runError struct {
	Contender string
	Size      int
	Err       error
}

func (e *runError) Error() string {
	return fmt.Sprintf("%s with %d bytes: %v", e.Contender, e.Size, e.Err)
}

func (e *runError) Unwrap() error { return e.Err }
