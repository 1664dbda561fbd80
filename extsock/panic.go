package extsock

import "github.com/rddp/rddp/internal/panics"

// A panicError says that a connection ended because of a panic in this module, or in code of the
// program that this module calls, such as a Tap. Its text has the stack. The program goes on.
// stats.Counts.Panics counts such panics in DDP mode, and TotalStats also the others.
type panicError = panics.Error

// newPanicError returns the error for a panic. The goroutine that has panicked calls it.
func newPanicError(value any) error { return panics.New(value) }

// guarded calls f. If f panics, guarded returns a *panicError.
func guarded(f func() error) error { return panics.Guard(f) }
