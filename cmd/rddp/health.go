package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/secure"
)

// healthTimeout bounds each step of a request for the health.
const healthTimeout = 5 * time.Second

// serveHealth answers HTTP at the address of --health until the returned function is called. On
// loopback it speaks plain HTTP. Where other hosts can connect, it needs TLS, which is that of the
// server, or --insecure.
func serveHealth(ctx context.Context, c *cli.Command, server *tls.Config, isReady func() bool) (stop func(), err error) {
	address, err := tcpAddress(c.String("health"), "")
	if err != nil {
		return nil, err
	}
	isBeyond := errors.Is(secure.CheckListen(ctx, address), secure.ErrBeyond)
	if isBeyond && server == nil {
		if err := checkListen(ctx, c, address); err != nil {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	log := newLog(c)
	log.Info("health", "at", l.Addr())
	if isBeyond && server != nil {
		l = tls.NewListener(l, server)
	}
	s := &http.Server{
		Handler: healthHandler(isReady), ReadTimeout: healthTimeout, WriteTimeout: healthTimeout, IdleTimeout: healthTimeout,
		MaxHeaderBytes: 4 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("health", "err", err)
		}
	}()
	return func() {
		s.Close()
		<-done
	}, nil
}

// healthHandler says that the process lives, and whether it takes newcomers.
func healthHandler(isReady func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "live\n") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if !isReady() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ready\n")
	})
	return mux
}
