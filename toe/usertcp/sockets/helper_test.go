package sockets_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if n := extsock.TotalStats().Open; code == 0 && n != 0 { // no goroutine is left
			fmt.Fprintf(os.Stderr, "%d connections are still open at the end\n", n)
			code = 1
		}
		nopanic.Exit(code)
	}))
}

var (
	timeLimit = prototest.TimeLimit
	pattern   = prototest.Pattern[byte]
)

// switched makes two connections from the streams and switches both to DDP mode. The cleanup closes
// them.
func switched(t testing.TB, a, b net.Conn, i, r extsock.Config) (ci, cr *extsock.Conn) {
	t.Helper()
	ci, cr = extsock.NewConn(a, true, &i), extsock.NewConn(b, false, &r)
	t.Cleanup(func() { ci.Close(); cr.Close() })
	if err := switchBoth(timeLimit(t), ci, cr); err != nil {
		t.Fatal(err)
	}
	return ci, cr
}

func switchBoth(ctx context.Context, ci, cr *extsock.Conn) error {
	responder := make(chan error, 1)
	go func() { responder <- cr.EnableDDP(ctx, nil) }()
	err := ci.EnableDDP(ctx, nil)
	return errors.Join(err, <-responder)
}

// register registers b or fails the test.
func register(t testing.TB, c *extsock.Conn, b []byte, a ddp.Access) extsock.Region {
	t.Helper()
	r, err := c.Register(b, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// complete takes the next completion and fails the test unless it is a success.
func complete(t testing.TB, cq *extsock.CompletionQueue) {
	t.Helper()
	d, err := cq.Wait(timeLimit(t))
	if err != nil {
		t.Fatal(err)
	}
	if d.Status != rdmap.StatusOK {
		t.Fatalf("completion %v", d)
	}
}

// do posts wr and waits for its success.
func do(t testing.TB, c *extsock.Conn, wr rdmap.WorkRequest) {
	t.Helper()
	if err := c.Post(&wr); err != nil {
		t.Fatalf("Post %v: %v", wr.Op, err)
	}
	complete(t, c.SendCQ())
}

func median(f []float64) float64 {
	slices.Sort(f)
	return f[len(f)/2]
}
