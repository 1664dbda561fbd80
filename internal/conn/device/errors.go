package device

import "errors"

var (
	errLength       = errors.New("the device has received more than there is room for")
	errCloseTimeout = errors.New("close: the peer does not accept the queued data")
	errCompletion   = errors.New("the device has completed a work request that is not under way")
)
