package prototest

import (
	"io"
	"net"
	"strings"
	"testing"
)

// Echoes serves l, and checks that ask prints the answers to the questions, one a line, and that
// serve returns nil when l is closed. serve and ask are the functions of an echo example.
func Echoes[L net.Listener](t *testing.T, l L, serve func(L) error, ask func(w io.Writer, address string, questions []string) error, questions ...string) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	var out strings.Builder
	err := ask(&out, l.Addr().String(), questions)
	if got, want := out.String(), strings.Join(questions, "\n")+"\n"; got != want || err != nil {
		t.Errorf("the client prints %q, %v, want %q", got, err, want)
	}
	l.Close()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
