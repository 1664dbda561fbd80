package hostile

import (
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
)

// footprint lists the resources of this process.
type footprint struct {
	goroutines, fds, maps int
	heap, rss             int64 // octets; the heap after a collection
}

func footprintNow(t testing.TB) (f footprint) {
	t.Helper()
	// Pools keep buffers for one collection, and a connection that has just ended may return a
	// buffer between two. Only what every collection finds really stays.
	var m runtime.MemStats
	heap := int64(math.MaxInt64)
	for range 6 {
		debug.FreeOSMemory()
		runtime.ReadMemStats(&m)
		heap = min(heap, int64(m.HeapAlloc))
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	f = footprint{goroutines: runtime.NumGoroutine(), fds: len(fds), heap: heap, rss: rssOf(t, os.Getpid())}
	for _, o := range maps {
		if o == '\n' {
			f.maps++
		}
	}
	return f
}

// rssOf returns how many octets of a process are resident.
func rssOf(t testing.TB, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// TestNothingIsLeft opens, uses and closes a hundred thousand connections. The numbers of file
// descriptors, goroutines and Regions return to their old values, and heap and resident memory do
// not grow with the number of connections.
func TestNothingIsLeft(t *testing.T) {
	n := testmode.Count(100_000, 600)
	domain := new(ddp.Domain)
	// Client and server are in this process. The server's Domain stays.
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{
		Startup: extsock.StartupRequire, Domain: domain,
		BadSTagDelay: -1, // some use an STag too late, and all have the same address
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the connections of earlier tests have ended", func() bool { return extsock.TotalStats().Open == 0 })
	quiet := runtime.NumGoroutine() + 1 // plus the one that accepts
	var handles sync.Map
	var serving sync.WaitGroup
	var stopped atomic.Bool
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				if !stopped.Load() {
					t.Error(err)
				}
				return
			}
			serving.Go(func() {
				if err := lendOnce(nc.(*extsock.Conn), &handles); err != nil {
					t.Error(err)
				}
			})
		}
	})
	use := func(n int) {
		inParallel(n, func(i int) {
			if err := useOnce(l.Addr().String(), i%4); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		})
	}
	use(min(n, 2000)) // fills the pools and the runtime's caches
	// Connections that are about to end still return buffers to their pools.
	waitQuiet := func(goroutines int) {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && runtime.NumGoroutine() > goroutines; {
			runtime.Gosched()
		}
	}
	waitQuiet(quiet)
	before := footprintNow(t)
	begin := time.Now()
	use(n / 2)
	waitQuiet(quiet)
	middle := footprintNow(t)
	use(n / 2)
	elapsed := time.Since(begin)
	waitQuiet(before.goroutines)
	after := footprintNow(t)
	left := 0
	handles.Range(func(k, _ any) bool {
		h := k.(rdmap.Handle)
		if _, err := domain.Check(h.STag, h.TO, 1, ddp.RemoteWrite, 0); err == nil {
			left++
		}
		return true
	})
	stopped.Store(true)
	l.Close()
	serving.Wait()
	t.Logf("%d connections in %v; before %+v, in the middle %+v, after %+v", n, elapsed, before, middle, after)
	slope := float64(after.rss-middle.rss) / float64(n/2) * 1000
	t.Logf("RSS grows by %.0f octets in 1,000 connections of the second half", slope)
	if after.goroutines > before.goroutines || after.fds > before.fds || left > 0 { // resources of an earlier test may be released meanwhile
		t.Errorf("%d goroutines, %d file descriptors, %d Regions more than before",
			after.goroutines-before.goroutines, after.fds-before.fds, left)
	}
	if grown := after.heap - before.heap; grown > 1<<18+int64(n)*8 { // the test remembers some of the Handles
		t.Errorf("the heap has grown by %d octets", grown)
	}
	if after.maps > before.maps+64 {
		t.Errorf("%d mappings before, %d after", before.maps, after.maps)
	}
	if testmode.Full && slope > 100*1024 && after.rss-before.rss > 16<<20 {
		t.Errorf("RSS grows by %.0f octets in 1,000 connections", slope)
	}
}

// lendOnce serves one connection. It lends memory, which the peer writes to, and echoes what it
// reads until the end.
func lendOnce(c *extsock.Conn, handles *sync.Map) error {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	r, err := c.Register(make([]byte, 64), ddp.RemoteRead|ddp.RemoteWrite)
	if err != nil {
		return err
	}
	if r.Handle().STag%64 == 0 {
		handles.Store(r.Handle(), true)
	}
	if _, err := c.Write(r.Handle().AppendTo(nil)); err != nil {
		return err
	}
	b := make([]byte, 64)
	for {
		n, err := c.Read(b)
		if err != nil {
			return nil // any kind of end
		}
		if _, err := c.Write(b[:n]); err != nil {
			return nil
		}
	}
}

// useOnce opens and uses one connection. how selects how it ends.
func useOnce(address string, how int) error {
	c, err := extsock.Dial("tcp", address, &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 16)
	if _, err := readFull(c, b); err != nil {
		return err
	}
	h, _, err := rdmap.ParseHandle(b)
	if err != nil {
		return err
	}
	if _, err := c.Remote(h).WriteAt(b, 0); err != nil {
		return err
	}
	if _, err := c.Remote(h).ReadAt(b, 0); err != nil {
		return err
	}
	if _, err := c.Write(b); err != nil {
		return err
	}
	if _, err := readFull(c, b); err != nil {
		return err
	}
	switch how {
	case 1:
		return c.CloseWrite()
	case 2:
		return c.SetLinger(0) // a reset
	case 3:
		h.STag ^= 1
		c.Remote(h).WriteAt(b, 0) // a Terminate
	}
	return nil
}

func readFull(c net.Conn, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = c.Read(p[n:])
		n += m
	}
	return n, err
}
