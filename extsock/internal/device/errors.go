package device

import (
	"errors"
	"fmt"
)

var (
	errCloseTimeout = errors.New("close: the peer does not accept the queued data")
	errPost         = fmt.Errorf("completion queues of a connection on a device: %w", errors.ErrUnsupported)
)
