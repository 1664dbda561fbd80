package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
)

// notifyReady tells the service manager that clients can connect, if one has started this process
// and wants to know (sd_notify(3) of systemd), and when ctx ends, that the server ends. The caller
// calls stop when it has ended. A manager that cannot be reached is no reason not to serve: the
// variable may come from a process further up, in whose network or file system this one is not.
func notifyReady(ctx context.Context, log *slog.Logger) (stop func()) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return func() {}
	}
	if err := notify(socket, "READY=1"); err != nil {
		log.Warn("the service manager does not know that clients can connect", "socket", socket, "err", err)
		return func() {}
	}
	told := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(told)
		_ = notify(socket, "STOPPING=1") // the end of the process tells it too
	})
	return func() {
		if !cancel() {
			<-told
		}
	}
}

func notify(socket, state string) error {
	c, err := net.Dial("unixgram", socket) // an abstract name begins with @ here too
	if err == nil {
		defer c.Close()
		_, err = c.Write([]byte(state))
	}
	if err != nil {
		return fmt.Errorf("telling the service manager %s: %w", state, errtext.Brief(err))
	}
	return nil
}
