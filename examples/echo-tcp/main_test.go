package main

import (
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEcho(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	prototest.Echoes(t, l, serve, ask, "one", "two", "three")
}

// TestCrowded: the server continues after an Accept that failed because too many files were open.
func TestCrowded(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	prototest.Echoes(t, net.Listener(&prototest.Crowded{Listener: l}), serve, ask, "one")
}
