package startup

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A Reason says why a connection that prefers DDP mode is plain TCP.
type Reason int

// The dialing end has the first four Reasons, and the accepting end has the others.
const (
	NoReply      Reason = iota + 1 // the peer closed or reset the connection instead of sending an MPA Reply
	NotMPA                         // the peer sent something other than an MPA Reply
	TimedOut                       // nothing came within Config.PreferTimeout of package extsock
	Remembered                     // one of these happened a short time ago, so nothing was tried; see Records
	PlainPeer                      // the peer's first bytes are not an MPA Request
	SniffTimeout                   // no MPA Request came within Config.SniffTimeout

	reasons
)

func (r Reason) String() string {
	switch r {
	case NoReply:
		return "no MPA Reply"
	case NotMPA:
		return "the answer was not MPA"
	case TimedOut:
		return "no answer in time"
	case Remembered:
		return "the peer did not speak MPA a while ago"
	case PlainPeer:
		return "the peer speaks plain TCP"
	case SniffTimeout:
		return "no MPA Request in time"
	}
	return fmt.Sprintf("Reason(%d)", int(r))
}

// A Fallback says why a connection that prefers DDP mode is plain TCP. The zero value means that
// the connection has not fallen back.
type Fallback struct {
	Reason Reason
	Err    error // what was found
}

// fallbacks counts the connections of the process that fell back to plain TCP, by Reason.
var fallbacks [reasons]atomic.Uint64

// Fallbacks returns how many connections of the process fell back to plain TCP for each Reason.
func Fallbacks() map[Reason]uint64 {
	m := make(map[Reason]uint64)
	for r := Reason(1); r < reasons; r++ {
		m[r] = fallbacks[r].Load()
	}
	return m
}

// An Address says what was dialed, and how. Backend is the toe.Backend.
type Address struct {
	Backend          any
	TLS              bool
	Network, Address string
}

// key returns the Address as the key of a map. Addresses that differ only in backends that cannot
// be compared have the same key.
func (a Address) key() Address {
	if a.Backend != nil && !reflect.ValueOf(a.Backend).Comparable() {
		a.Backend = nil
	}
	return a
}

// maxRecords limits how many addresses a Dialer remembers.
const maxRecords = 1024

// Records holds what a Dialer remembers, for a time, about the peers at addresses. The zero value
// is empty.
type Records struct {
	mu locks.Mutex[locks.Records]
	m  map[Address]record // +checklocks:mu
}

// A Record is what is known about one peer. The zero value says that nothing is known.
type Record struct {
	// Plain, if not nil, says why the Dialer should dial in plain TCP.
	Plain error
	// Revision1 says that the peer knows only revision 1 of MPA.
	Revision1 bool
	// NoMarkers says that the peer refused Markers, and agreed without them.
	NoMarkers bool
}

type record struct {
	Record
	until time.Time
}

// Recall returns what is known of a.
func (r *Records) Recall(a Address) Record {
	a = a.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.m[a]
	if ok && !time.Now().Before(found.until) {
		delete(r.m, a)
		return Record{}
	}
	return found.Record
}

// Forget drops what is remembered of a.
func (r *Records) Forget(a Address) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, a.key())
}

// Note remembers what for the time d, and replaces what was known of a. If there are too many
// records, Note drops the one that has the least time left. If d is negative, Note does nothing.
func (r *Records) Note(a Address, what Record, d time.Duration) {
	if d < 0 {
		return
	}
	a = a.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = make(map[Address]record)
	}
	if _, ok := r.m[a]; !ok && len(r.m) >= maxRecords {
		var first Address
		var until time.Time
		for b, found := range r.m {
			if until.IsZero() || found.until.Before(until) {
				first, until = b, found.until
			}
		}
		delete(r.m, first)
	}
	r.m[a] = record{Record: what, until: time.Now().Add(d)}
}

// Len returns how many addresses are remembered.
func (r *Records) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.m)
}
