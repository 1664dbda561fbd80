package tlsfiles

import (
	"context"
	"errors"
	"net"
	"testing"
)

// TestCheckListenOfUnknownHost: a host that cannot be looked up may have any address, so it does
// not count as loopback.
func TestCheckListenOfUnknownHost(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server today")
	}}
	if err := CheckListen(t.Context(), "far.example:7174"); err == nil {
		t.Error("it counts as loopback")
	}
	if err := CheckListen(t.Context(), "127.0.0.1:7174"); err != nil {
		t.Errorf("an address: %v", err)
	}
}
