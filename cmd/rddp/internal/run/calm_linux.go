//go:build amd64 || arm64

package run

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A calm keeps the monitor thread of Go's runtime (sysmon) from waking all the time.
//
// Unless Go code runs, that thread sleeps until a goroutine makes a system call that may block, as
// each access to the program's memory does. Then it wakes every 20 µs for a millisecond at least.
// So beside messages that are 20 µs apart or more, it woke for each of them. That took half of the
// device's processor time, in a virtual machine whose timers are expensive. While Go code runs, it
// wakes every 10 ms.
//
// So while the device has much to do, one goroutine holds one of the runtime's processors without
// using a CPU: it sleeps in a system call, again and again, each time for less than the 10 ms after
// which the monitor thread takes the processor away. The runtime gets one more for this. A garbage
// collection does not wait for the goroutine.
//
// The price is that the monitor thread is late, by up to 10 ms, when it must replace a thread that
// is blocked, for example by a page that does not come.
type calm struct {
	on    atomic.Bool // prepare has been called
	count atomic.Uint32
	last  atomic.Int64 // when count was last a multiple of calmEvery, since calmSince
	holds atomic.Bool  // a goroutine runs hold
	once  sync.Once
}

// theCalm is that of the process, which has one runtime.
var theCalm calm

var calmSince = time.Now()

const (
	// calmEvery accesses within calmTime are much to do.
	calmEvery = 16
	// calmTime is later than the next tick of a busy CPU, so the kernel need not program its timer.
	calmTime = 6 * time.Millisecond
)

// leastProcessors leaves the runtime an idle processor where this process is bound to one CPU, as a
// rank of Open MPI is. Without one, the monitor thread takes the held processor away as soon as it
// looks, and looks again after 20 µs.
const leastProcessors = 3

// prepare gives the runtime one more processor.
func (k *calm) prepare() {
	k.once.Do(func() {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)+1, leastProcessors))
		k.on.Store(true)
	})
}

// note notes that the device accesses a program's memory.
func (k *calm) note() {
	if k.count.Add(1)%calmEvery == 0 {
		k.look(time.Since(calmSince))
	}
}

// look begins to hold a processor if there is much to do, and reports whether it has. now is the
// time since calmSince.
func (k *calm) look(now time.Duration) (begun bool) {
	last := time.Duration(k.last.Swap(int64(now)))
	if now-last >= calmTime || !k.on.Load() || !k.holds.CompareAndSwap(false, true) {
		return false
	}
	go k.hold()
	return true
}

// hold holds a processor of the runtime for as long as there is much to do.
func (k *calm) hold() {
	defer k.holds.Store(false)
	for busy := true; busy; {
		before := k.count.Load()
		t := unix.NsecToTimespec(int64(calmTime))
		_ = unix.Nanosleep(&t, nil) // a signal may end it early
		busy = k.count.Load()-before >= calmEvery
		runtime.Gosched() // else it counts as one turn, which ends after 10 ms
	}
}
