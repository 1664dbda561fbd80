package main

import (
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

func TestEcho(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	long := strings.Repeat("long ", maxLen/5)
	var out strings.Builder
	if err := ask(&out, l.Addr().String(), []string{"one", "two", long}); err != nil {
		t.Error(err)
	}
	if got, want := out.String(), "one\ntwo\n"+long+"\n"; got != want {
		t.Errorf("the client prints %.40q, want %.40q", got, want)
	}
	// A question that is longer than the memory ends only its own connection.
	if err := ask(&out, l.Addr().String(), []string{strings.Repeat("x", maxLen+1)}); err == nil {
		t.Error("a question that is too long was answered")
	}
	if err := ask(&out, l.Addr().String(), []string{"still here"}); err != nil {
		t.Errorf("after a question that was too long: %v", err)
	}
	l.Close()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestCrowded: the server continues after an Accept that failed because too many files were open.
func TestCrowded(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := extsock.NewListener(&prototest.Crowded{Listener: tcp}, &extsock.Config{Startup: extsock.StartupRequire})
	prototest.Echoes(t, l, serve, ask, "one")
}
