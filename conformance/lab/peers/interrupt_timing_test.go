//go:build linux

package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestInterruptEndsBoth: an interrupt ends both processes. The client must have begun 100 ms after
// its command is known.
func TestInterruptEndsBoth(t *testing.T) {
	tools(t, "iperf3", "ucx_perftest")
	t.Setenv("PEERS_STALL", "iperf3")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := pair{
		server: func(int) []string { return []string{"ucx_perftest", "-p", "0"} },
		client: func(int) []string {
			time.AfterFunc(100*time.Millisecond, cancel)
			return []string{"iperf3"}
		},
	}
	_, _, err := p.run(ctx)
	wrong := (*processError)(nil)
	if !errors.Is(err, context.Canceled) || !errors.As(err, &wrong) || wrong.Command != "iperf3" {
		t.Errorf("%v", err)
	}
	noChildren(t, "the client never ends")
}
