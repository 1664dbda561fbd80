//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

func init() { programs["moved"] = movedProgram }

// movedProgram moves the descriptors of its channels, before and after it makes a CQ. Unread events
// must not be counted as read.
func movedProgram([]string) error {
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	move := func(fd, to int) (int, error) {
		moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, to)
		return moved, errors.Join(err, unix.Close(fd))
	}
	channel, err := c.Channel()
	if err != nil {
		return err
	}
	if channel, err = move(channel, 200); err != nil {
		return err
	}
	if _, err := c.CQ(10, 0, 7); !errors.Is(err, syscall.EBADF) {
		return fmt.Errorf("a CQ with a channel that is none: %w", err)
	}
	cq, err := c.CQ(10, channel, 7)
	if err != nil {
		return err
	}
	qp, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 10, SGEs: 1})
	if err != nil {
		return err
	}
	if _, err := move(channel, 300); err != nil {
		return err
	}
	if err := errors.Join(qp.Modify(guest.Init, [16]byte{}, 0, nil), c.Arm(cq, 0)); err != nil {
		return err
	}
	qp.PostRecv(1)
	if err := qp.Modify(guest.Err, [16]byte{}, 0, nil); err != nil {
		return err
	}
	next(cq)
	if _, err := c.Destroy(27, qp.Handle); err != nil {
		return err
	}
	if n, err := c.Destroy(20, cq.Handle); n != 0 || err != nil {
		return fmt.Errorf("destroying the CQ: %d events to acknowledge, %w", n, err)
	}
	return nil
}

// A channel works under any descriptor number that the program gives it.
func TestChannelThatMoves(t *testing.T) {
	if err := under(performance(t, "moved")...).Run(); err != nil {
		t.Error(err)
	}
}
