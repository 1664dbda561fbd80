package device

import (
	"errors"
	"fmt"
)

var (
	errLength       = errors.New("the device has received more than there is room for")
	errCloseTimeout = errors.New("close: the peer does not accept the queued data")
	errPost         = fmt.Errorf("completion queues of a connection on a device: %w", errors.ErrUnsupported)
)
