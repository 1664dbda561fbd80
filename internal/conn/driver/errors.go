package driver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

var (
	// errDetached is the error of a call whose operation goes on after the call.
	errDetached = fmt.Errorf("%w: the operation goes on", os.ErrDeadlineExceeded)

	errCut          = fmt.Errorf("the peer's FIN inside an RDMA Message: %w", io.ErrUnexpectedEOF)
	errAbandoned    = errors.New("a message was abandoned in the middle")
	errCloseTimeout = errors.New("close: the peer does not accept the queued data")

	ErrIdleTimeout  = wait.Timeout(fmt.Errorf("%w: nothing was sent or received for too long", wait.ErrLimit))
	ErrWriteTimeout = wait.Timeout(fmt.Errorf("%w: the peer's TCP accepts no data", wait.ErrLimit))
)

func isFull(err error) bool {
	return err != nil && errors.Is(err, rdmap.ErrQueueFull)
}

// asWriteError returns the error that a Write over TCP would return: EPIPE if the peer has sent its
// FIN, even inside a message.
func asWriteError(err error) error {
	switch {
	case err == io.EOF: //nolint:errorlint // as setReason keeps it
		return syscall.EPIPE
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", syscall.EPIPE, err)
	}
	return err
}
