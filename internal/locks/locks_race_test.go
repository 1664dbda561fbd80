//go:build race

package locks

import (
	"strings"
	"sync"
	"testing"
)

// Sequences of lock operations by one goroutine panic where they must, and only there.
func TestOrderIsAsserted(t *testing.T) {
	var (
		conn       Mutex[Conn]
		qp, q2     Mutex[QP]
		domain, d2 RWMutex[Domain]
	)
	for _, tt := range []struct {
		desc string
		do   func()
		want []string // in the panic's value; none: no panic
	}{
		{"inwards", func() {
			conn.Lock()
			qp.Lock()
			domain.RLock()
			domain.RUnlock()
			qp.Unlock()
			conn.Unlock()
		}, nil},
		{"one after the other", func() { qp.Lock(); qp.Unlock(); conn.Lock(); conn.Unlock() }, nil},
		{"unlocked from the outside", func() {
			conn.Lock()
			qp.Lock()
			conn.Unlock()
			domain.Lock()
			domain.Unlock()
			qp.Unlock()
		}, nil},
		{"outwards", func() { qp.Lock(); defer qp.Unlock(); conn.Lock() }, []string{"BUG: ", "Conn", "QP"}},
		{"outwards, not from the innermost", func() {
			conn.Lock()
			defer conn.Unlock()
			domain.RLock()
			defer domain.RUnlock()
			qp.Lock()
		}, []string{"BUG: ", "QP", "Domain"}},
		{"of the same rank", func() { qp.Lock(); defer qp.Unlock(); q2.Lock() }, []string{"BUG: ", "QP"}},
		{"for reading twice", func() { domain.RLock(); defer domain.RUnlock(); domain.RLock() }, []string{"BUG: ", "Domain"}},
		{"tried outwards", func() {
			qp.Lock()
			defer qp.Unlock()
			if conn.TryLock() {
				conn.Unlock()
			}
		}, nil},
		{"inside what was tried", func() {
			if qp.TryLock() {
				defer qp.Unlock()
			}
			conn.Lock()
		}, []string{"BUG: ", "Conn", "QP"}},
		{"inside what was tried for reading", func() {
			if domain.TryRLock() {
				defer domain.RUnlock()
			}
			qp.Lock()
		}, []string{"BUG: ", "QP", "Domain"}},
		{"no mutex, outwards", func() { qp.Lock(); defer qp.Unlock(); Acquired[Token]() }, []string{"BUG: ", "Token", "QP"}},
		{"inside what is no mutex", func() { Acquired[Token](); defer Released[Token](); conn.Lock() }, []string{"BUG: ", "Conn", "Token"}},
		{"nested", func() {
			conn.Lock()
			qp.Lock()
			LockNested(&q2)
			domain.Lock()
			LockNested(&d2)
			if q2.TryLock() || d2.TryRLock() {
				t.Error("a nested lock is locked twice")
			}
			UnlockNested(&d2)
			domain.Unlock()
			UnlockNested(&q2)
			qp.Unlock()
			conn.Unlock()
		}, nil},
		{"inside what is nested", func() {
			qp.Lock()
			defer qp.Unlock()
			LockNested(&q2)
			defer UnlockNested(&q2)
			conn.Lock()
		}, []string{"BUG: ", "Conn", "QP"}},
		{"nested in nothing", func() { LockNested(&q2) }, []string{"BUG: ", "QP"}},
		{"nested in another kind", func() { qp.Lock(); defer qp.Unlock(); LockNested(&d2) }, []string{"BUG: ", "Domain"}},
		{"released and not held", func() { Released[Token]() }, []string{"BUG: ", "Token"}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			var got any
			func() {
				defer func() { got = recover() }()
				tt.do()
			}()
			text, _ := got.(string)
			if (got == nil) != (tt.want == nil) {
				t.Fatalf("panic %v, want %q", got, tt.want)
			}
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("panic %q does not name %q", text, w)
				}
			}
			conn.Lock() // nothing is left behind
			conn.Unlock()
		})
	}
}

// Locks of another goroutine do not count, and only that goroutine may release them.
func TestGoroutinesAreApart(t *testing.T) {
	var qp Mutex[QP]
	var conn Mutex[Conn]
	qp.Lock()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			conn.Lock()
			conn.Unlock() //nolint:staticcheck // what it may lock is the test
			defer func() {
				if recover() == nil {
					t.Error("a goroutine releases what another one holds")
				}
			}()
			Released[QP]()
		})
	}
	wg.Wait()
	qp.Unlock()
}

func TestCounts(t *testing.T) {
	var keys RWMutex[Keys]
	before := Counts()["Keys"]
	const rounds, goroutines = 1000, 4
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				keys.RLock()
				keys.RUnlock() //nolint:staticcheck // the pair is what is counted
				keys.Lock()
				keys.Unlock() //nolint:staticcheck // the same
			}
		})
	}
	wg.Wait()
	if got := Counts()["Keys"] - before; got != 2*rounds*goroutines {
		t.Errorf("%d pairs counted, want %d", got, 2*rounds*goroutines)
	}
}
