package perf

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// peerEnv makes the test binary run as the other process.
const peerEnv = "RDDP_PERF_TEST_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(peerEnv) != "" {
		if err := ServePeer(context.Background(), os.Stdin, os.Stdout, nil, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testmode.Hurry()
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit))
}

// startPeer starts another process and returns its address.
func startPeer(t *testing.T) string {
	t.Helper()
	p, err := StartPeer(context.Background(), []string{os.Args[0]}, []string{peerEnv + "=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p.Address
}
