//go:build amd64 || arm64

package verbs

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
)

// TestPeerLeavesAfterAnswer: a channel adapter's peer that leaves after its answer rejects the
// connection, and rdma_cm then returns EINVAL. In both cases the peer is gone.
func TestPeerLeavesAfterAnswer(t *testing.T) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC) // a Write to it is EINVAL
	if err != nil {
		t.Fatal(err)
	}
	d := &Device{cm: os.NewFile(uintptr(fd), "rdma_cm")}
	defer d.cm.Close()
	q := &QP{end: makeEnd(d, 1, 1, 4)}
	var c *ConnectError
	if err := q.confirm(); !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &c) {
		t.Errorf("confirm = %v, want a ConnectError that is ECONNRESET", err)
	}
	if !q.end.take(ucma.Event{UID: 1, ID: 1, Type: ucma.Rejected, Status: 28}) || !errors.Is(q.cause(), ErrDisconnected) {
		t.Errorf("after a rejection the cause is %v, want ErrDisconnected", q.cause())
	}
}
