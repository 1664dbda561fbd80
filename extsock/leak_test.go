package extsock_test

import (
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestNothingIsLeft opens, uses and closes connections and counts what is left: file descriptors,
// goroutines, and Regions of a Protection Domain that outlives them.
func TestNothingIsLeft(t *testing.T) {
	descriptors := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Logf("file descriptors are not counted on this system: %v", err)
		}
		return len(d)
	}
	alone(t)
	domain := new(ddp.Domain)
	fds, goroutines := descriptors(), runtime.NumGoroutine()
	for range 100 {
		a, b := kernelStreams(t)
		ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, &extsock.Config{Domain: domain})
		if err := switchBoth(t.Context(), ci, cr); err != nil {
			t.Fatal(err)
		}
		memory := make([]byte, 100)
		r := register(t, cr, memory, ddp.RemoteWrite)
		h := r.Handle()
		if _, err := ci.Remote(h).WriteAt([]byte("octets"), 0); err != nil {
			t.Fatal(err)
		}
		if err := ci.Close(); err != nil {
			t.Error(err)
		}
		if _, err := cr.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Read after the peer's Close: %v", err)
		}
		if err := cr.Close(); err != nil {
			t.Error(err)
		}
		for _, c := range []*extsock.Conn{ci, cr} {
			if err := c.Wait(timeLimit(t)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := domain.Check(h.STag, h.TO, 1, ddp.RemoteWrite, 0); err == nil {
			t.Fatal("the Region is still registered after Close")
		}
	}
	if n := descriptors(); n > fds {
		t.Errorf("%d file descriptors before, %d after", fds, n)
	}
	// A goroutine that has nothing more to do may not be gone yet.
	prototest.Wait(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
}
