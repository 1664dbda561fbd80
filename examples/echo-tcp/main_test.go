package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
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
