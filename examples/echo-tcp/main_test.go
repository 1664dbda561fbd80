package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	l.Close()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestCrowded: the server goes on after an Accept that failed because too many files were open.
func TestCrowded(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve(&prototest.Crowded{Listener: l}) }()
	var out strings.Builder
	if err := ask(&out, l.Addr().String(), []string{"one"}); err != nil || out.String() != "one\n" {
		t.Errorf("the client prints %q, %v", out.String(), err)
	}
	l.Close()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
