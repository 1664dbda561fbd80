package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rddp/rddp/internal/testkit/nopanic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

func serveForTest(t *testing.T) (address string) {
	t.Helper()
	s, l, err := newServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

func TestFetchAll(t *testing.T) {
	var out strings.Builder
	if err := fetchAll(&out, serveForTest(t), []string{"short", "long"}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "short: 5 bytes, \"hello\"\nlong: 655360 bytes, \"one-sided \"\n"; got != want {
		t.Errorf("the client prints %q, want %q", got, want)
	}
}

// TestOneConnection: the calls and the RDMA Reads use one connection, and no answer contains a
// text. Both still work after an error of the service.
func TestOneConnection(t *testing.T) {
	c, err := newClient(serveForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.calls.Close()
	for i := range 3 {
		p, err := c.fetch(t.Context(), "long")
		if want := strings.Repeat("one-sided ", 1<<16); err != nil || string(p) != want {
			t.Fatalf("%d bytes that begin with %.20q, %v; want %d", len(p), p, err, len(want))
		}
		if _, err := c.fetch(t.Context(), "none"); status.Code(err) != codes.NotFound {
			t.Fatalf("a text that is not there: %v", err)
		}
		s := c.conn.Load().Stats()
		if s.Sent.ReadRequests != uint64(i+1) || s.Received.Sends == 0 {
			t.Errorf("after %d texts %d RDMA Reads on a connection that has received %d Sends", i+1, s.Sent.ReadRequests, s.Received.Sends)
		}
		if n := s.DirectOctets + s.CopiedOctets; n > 64<<10 {
			t.Errorf("gRPC has received %d bytes", n)
		}
	}
}
