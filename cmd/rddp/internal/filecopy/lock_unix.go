//go:build unix && !solaris && !illumos && !aix

package filecopy

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openNonBlock keeps an open of a FIFO from waiting for the other end of the FIFO.
const openNonBlock = syscall.O_NONBLOCK

// lockFile locks f until unlock. If f is locked, the error is ErrBusy. Closing f also unlocks it.
func lockFile(f *os.File) (unlock func(), err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) { lockErr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
	switch {
	case err != nil:
		return nil, err
	case errors.Is(lockErr, syscall.EWOULDBLOCK):
		return nil, ErrBusy
	case errors.Is(lockErr, syscall.ENOTSUP), errors.Is(lockErr, syscall.ENOLCK):
		return func() {}, nil // the file system has no locks
	case lockErr != nil:
		return nil, fmt.Errorf("flock: %w", lockErr)
	}
	return func() {}, nil
}
