//go:build amd64 || arm64

package run

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestCalmBegins: a processor is held only after prepare, and only if many accesses come within a
// short time.
func TestCalmBegins(t *testing.T) {
	var k calm
	if k.look(0) || k.look(calmTime/2) {
		t.Fatal("it holds a processor that the runtime has not got")
	}
	k.on.Store(true)
	if k.look(2*calmTime) || k.look(4*calmTime) {
		t.Fatal("it holds a processor although there is little to do")
	}
	if !k.look(4*calmTime + calmTime/2) { // the goroutine may end before the test goes on
		t.Fatal("it holds no processor although there is much to do")
	}
	prototest.Wait(t, "the end", func() bool { return !k.holds.Load() })
}

// TestCalmOnOneCPU: a process that is bound to one CPU has a processor that may be held, one that
// works, and one that is idle.
func TestCalmOnOneCPU(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var k calm
	k.prepare()
	if n := runtime.GOMAXPROCS(0); n != 3 {
		t.Errorf("%d processors, want 3", n)
	}
}

// TestCalmStops: while a processor is held, all goroutines can be stopped, and others run. The
// garbage collector stops them, and waits for each processor more than once.
func TestCalmStops(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var k calm
	k.prepare()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			default:
				k.note()
				runtime.Gosched()
			}
		}
	}()
	prototest.Wait(t, "much to do", k.holds.Load)
	for range 10 {
		runtime.GC()
	}
	close(over)
	<-ended
	prototest.Wait(t, "the end", func() bool { return !k.holds.Load() })
}

// accessed is memory that does not move.
var accessed [8]byte

// TestAccessIsNoted: each access to registered memory counts.
func TestAccessIsNoted(t *testing.T) {
	p, err := process.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, at := &registrant{Process: p}, uint64(uintptr(unsafe.Pointer(&accessed)))
	for name, do := range map[string]func([]byte, uint64) error{"Read": r.Read, "Write": r.Write} {
		before := theCalm.count.Load()
		if err := do(make([]byte, 8), at); err != nil {
			t.Fatal(name, err)
		}
		if theCalm.count.Load() == before { // other tests may add to it
			t.Errorf("%s is not noted", name)
		}
	}
}
