package driver

import (
	"time"
	"unsafe"

	"github.com/rddp/rddp/extsock/internal/prefetch"
)

// coldAfter is the wait after which the state of a connection is probably no longer in the CPU's
// cache, because other connections have used the cache meanwhile.
const coldAfter = 200 * time.Microsecond

// The bytes of each object that a short message and its answer use. What they use stands at the
// beginning.
const (
	warmDriver = unsafe.Offsetof(Driver{}.bound)
	warmQP     = 576
	warmDDP    = 384
	warmStack  = 1024
)

// warm has the CPU fetch the state of the connection, in the goroutine with the receive role, just
// before that goroutine reads from TCP. The lines arrive during the system call. Otherwise the
// message would wait for about a hundred lines, most of them one after another.
func (d *Driver) warm() {
	if d.role.lastWait() < coldAfter {
		return
	}
	prefetch.Lines(unsafe.Pointer(d), warmDriver)
	prefetch.Lines(unsafe.Pointer(d.rx.ddp), warmDDP)
	prefetch.Lines(unsafe.Pointer(d.qp), warmQP)
	if d.in != nil {
		prefetch.Lines(unsafe.Pointer(d.in), unsafe.Sizeof(*d.in))
	}
	if d.bytes != nil {
		prefetch.Lines(unsafe.Pointer(d.bytes), unsafe.Sizeof(*d.bytes))
	}
	prefetch.Stack(warmStack)
}
