//go:build amd64 || arm64

package run

import (
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A slow answer does not delay other calls for long, and watch sleeps when there are no calls.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan int)
		release := make(chan struct{})
		var mu sync.Mutex
		var answered []int
		turns := turns[int]{
			next: func() (int, error) {
				c, ok := <-calls
				if !ok {
					return 0, io.EOF
				}
				return c, nil
			},
			answer: func(c int) {
				if c < 0 {
					<-release
				}
				mu.Lock()
				defer mu.Unlock()
				answered = append(answered, c)
			},
		}
		want := func(want ...int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(answered, want) {
				t.Errorf("answered: %v, want %v", answered, want)
			}
		}
		ended := make(chan error)
		go func() { ended <- turns.run() }()
		calls <- 1
		calls <- 2
		want(1, 2)
		time.Sleep(time.Hour)
		if turns.awake.Load() {
			t.Error("somebody watches, and nobody calls")
		}
		began := time.Now()
		calls <- -1
		calls <- 3
		want(1, 2, 3)
		calls <- -2
		calls <- 4
		calls <- 5
		want(1, 2, 3, 4, 5)
		if d := time.Since(began); d > 4*turnMost+time.Millisecond {
			t.Errorf("the calls behind two that wait take %v", d)
		}
		if n := turns.slow.Load(); n != 2 {
			t.Errorf("%d answers wait, want 2", n)
		}
		close(release)
		synctest.Wait()
		mu.Lock()
		slices.Sort(answered)
		mu.Unlock()
		want(-2, -1, 1, 2, 3, 4, 5)
		if n := turns.slow.Load(); n != 0 {
			t.Errorf("%d answers wait, want none", n)
		}
		calls <- 6
		close(calls)
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the end: %v", err)
		}
		want(-2, -1, 1, 2, 3, 4, 5, 6)
	})
}

// At most slowMost answers wait at the same time.
func TestTurnsMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan int, slowMost+10)
		release := make(chan struct{})
		turns := turns[int]{
			next: func() (int, error) {
				c, ok := <-calls
				if !ok {
					return 0, io.EOF
				}
				return c, nil
			},
			answer: func(int) { <-release },
		}
		for i := range cap(calls) {
			calls <- i
		}
		close(calls)
		ended := make(chan error)
		go func() { ended <- turns.run() }()
		time.Sleep(time.Hour)
		if n := turns.slow.Load(); n != slowMost {
			t.Errorf("%d answers wait, want %d", n, slowMost)
		}
		close(release)
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the end: %v", err)
		}
	})
}
