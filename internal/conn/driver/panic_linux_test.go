package driver

import (
	"runtime/debug"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestPanicWhileAReadIsServed: a panic while a message is being placed in a Read's memory ends the
// connection, and the Read with it. The memory here cannot be written.
func TestPanicWhileAReadIsServed(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	synctest.Test(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		var never wait.Deadline
		p := make([]byte, 8)
		read := make(chan error, 1)
		go func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			for range 20 { // until this goroutine receives for itself
				if _, err := b.Read(p, &never); err != nil {
					read <- err
					return
				}
				b.Write(p, nil)
			}
			_, err := b.Read(memory, &never)
			read <- err
		}()
		for range 20 {
			synctest.Wait() // the other end waits in Read
			if _, err := a.Write(p, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Read(make([]byte, 8), &never); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if !b.Inspect().Driving {
			t.Fatal("the Read does not receive for itself")
		}
		if _, err := a.Write(p, nil); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err == nil {
			t.Error("the Read succeeds")
		}
		if b.in.isPlacing() {
			t.Error("the message counts as one that is being placed, for which a Read that leaves would wait")
		}
		if n := b.count.Load(counters.Panics); n != 1 {
			t.Errorf("%d panics, want 1", n)
		}
		end(a)
		end(b)
		time.Sleep(time.Minute)
	})
}
