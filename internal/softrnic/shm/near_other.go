//go:build !linux

package shm

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/rddp/rddp/toe"
)

// A Stream is one end of a connection.
type Stream struct{ toe.Stream }

// NewParcel returns nil.
func (*Stream) NewParcel(int) toe.Parcel { return nil }

func (*Stream) withdraw(*Parcel) {}

// Dial returns errors.ErrUnsupported.
func Dial(context.Context, Space, netip.AddrPort, netip.AddrPort) (*Stream, error) {
	return nil, errors.ErrUnsupported
}

// Listen returns errors.ErrUnsupported.
func Listen(Space, uint16, func(netip.Addr) bool) (net.Listener, error) {
	return nil, errors.ErrUnsupported
}

// SocketPair returns errors.ErrUnsupported.
func SocketPair() (a, b net.Conn, err error) { return nil, nil, errors.ErrUnsupported }
