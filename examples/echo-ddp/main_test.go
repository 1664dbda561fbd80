package main

import (
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

// TestEcho has a client in DDP mode, and a plain TCP client without rddp.
func TestEcho(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	var out strings.Builder
	if err := ask(&out, l.Addr().String(), []string{"one", "two", "three"}); err != nil {
		t.Error(err)
	}
	if got, want := out.String(), "one\ntwo\nthree\n"; got != want {
		t.Errorf("the client prints %q, want %q", got, want)
	}
	plain, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(plain, "plain"); err != nil {
		t.Error(err)
	}
	answer := make([]byte, 5)
	if _, err := io.ReadFull(plain, answer); err != nil || string(answer) != "plain" {
		t.Errorf("a plain client gets %q, %v", answer, err)
	}
	plain.Close()
	l.Close()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestNoFallback: a client that requires DDP mode refuses a plain TCP server.
func TestNoFallback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
	}()
	if err := ask(io.Discard, l.Addr().String(), []string{"one"}); err == nil {
		t.Error("the client has talked to a server of plain TCP")
	}
}

// TestCrowded: the server continues after an Accept that failed because too many files were open.
func TestCrowded(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	prototest.Echoes(t, net.Listener(&prototest.Crowded{Listener: l}), serve, ask, "one")
}
