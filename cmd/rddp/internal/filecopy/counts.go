package filecopy

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"

	"github.com/rddp/rddp/internal/accept"
)

// Counts are the counters of a Server since it began. The zero value is ready.
type Counts struct {
	Open        atomic.Int64  // open connections of clients
	Connections atomic.Uint64 // connections of clients so far
	Sent        Transfers     // to clients
	Received    Transfers     // from clients
	failures    [failureKinds]atomic.Uint64
}

// Transfers are the counters of one direction.
type Transfers struct {
	Files  atomic.Uint64 // completed copies, including those of files that were already there
	Octets atomic.Uint64 // bytes of contents that were moved, including those of failed copies
}

// A failure is a kind of failure: a code in the answer to a request, or one of these.
type failure int

const (
	failureLost      failure = iota + failure(len(codes)) + 1 // the connection ended during a copy
	failureDisplaced                                          // another connection took its place
	failureStartup                                            // startup failed
	failureKinds
)

// failureNames are the names of the failures.
var failureNames = [failureKinds]string{
	"other", "read_only", "is_directory", "not_directory", "not_regular", "path", "unfinished", "busy", "changed",
	"mismatch", "protocol", "not_found", "permission", "disk_full", "too_many_clients", "lost", "displaced", "startup",
}

// Failures returns the name of each kind of failure, and its count.
func (c *Counts) Failures() iter.Seq2[string, *atomic.Uint64] {
	return func(yield func(string, *atomic.Uint64) bool) {
		for i := range c.failures {
			if !yield(failureNames[i], &c.failures[i]) {
				return
			}
		}
	}
}

// fail counts the failure of a request or of a connection. It does not count an orderly end, or the
// end of the Server, which ends ctx.
func (c *Counts) fail(ctx context.Context, err error) {
	kind := failure(codeOf(err))
	switch {
	case errors.Is(context.Cause(ctx), accept.ErrDisplaced):
		kind = failureDisplaced
	case ctx.Err() != nil || err == nil || errors.Is(err, io.EOF) && !errors.Is(err, ErrLost):
		return
	case errors.Is(err, ErrLost):
		kind = failureLost
	}
	c.failures[kind].Add(1)
}
