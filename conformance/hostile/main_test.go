package hostile

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/conformance/hostile/slowpeer"
	"github.com/rddp/rddp/internal/nopanic"
	"github.com/rddp/rddp/internal/prototest"
)

// roleEnv, in the environment of this test binary, makes it a peer process instead: the name of a
// role in roles.
const roleEnv = "RDDP_HOSTILE_ROLE"

// roles are what a peer process can be. They end when their standard input does, if not before.
var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(roleEnv); name != "" {
		run := roles[name]
		if run == nil {
			run = func() error { return fmt.Errorf("no role %q", name) }
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	slowpeer.Main()
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit))
}

var seeded = prototest.Seeded

// settled wants no more goroutines than there were, within what Close may wait for in the
// background.
func settled(t testing.TB, goroutines int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after\n%s", goroutines, runtime.NumGoroutine(), b[:runtime.Stack(b, true)])
		}
	}
}

// inParallel calls do(i) for i from 0 to n-1, in a few goroutines.
func inParallel(n int, do func(i int)) { inGoroutines(8, n, do) }

// inGoroutines calls do(i) for i from 0 to n-1, in so many goroutines.
func inGoroutines(goroutines, n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range goroutines {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
