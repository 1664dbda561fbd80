package extsock

import "github.com/rddp/rddp/internal/panics"

// A panicError says that a connection ended because of a panic in this module, or in code of the
// program that this module calls, such as a Tap. Its text has the stack. The program goes on.
// stats.Counts.Panics counts such panics in DDP mode, and TotalStats also the others.
type panicError = panics.Error

// newPanicError makes an error of a panic, in the goroutine that has panicked.
func newPanicError(value any) error { return panics.New(value) }

// guarded calls f. If f panics, guarded returns a *panicError.
func guarded(f func() error) error { return panics.Guard(f) }
