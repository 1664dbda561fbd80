//go:build !linux

package fault

import (
	"errors"
	"net"
)

func socketPair() (a, b *net.UnixConn, err error) { return nil, nil, errors.ErrUnsupported }
