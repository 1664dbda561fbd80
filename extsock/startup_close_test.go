package extsock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestCloseAsSniffBegins: whether octets are unread is looked at while sniff gets itself room for them. The race detector
// judges.
func TestCloseAsSniffBegins(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(b, false, &extsock.Config{Startup: extsock.StartupPrefer})
		if err := c.Handshake(over); !errors.Is(err, context.Canceled) {
			t.Fatalf("Handshake = %v", err)
		}
		c.Close()
		a.Close()
	}
}
