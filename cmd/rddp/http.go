package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/monitor"
	"github.com/rddp/rddp/cmd/rddp/internal/tlsfiles"
)

// This file contains the HTTP servers of commands, for health and metrics.

func metricsFlag() cli.Flag {
	return &cli.StringFlag{Name: "metrics", Usage: "answer HTTP at `ADDRESS`: /metrics for Prometheus, and /connections for rddp top"}
}

// serveMetrics serves the metrics of the process and the collectors in more at the address of
// --metrics, if set, until the returned function is called. It listens like serveHTTP.
func serveMetrics(ctx context.Context, c *cli.Command, server *tls.Config, more ...prometheus.Collector) (stop func(), err error) {
	if !c.IsSet("metrics") {
		return func() {}, nil
	}
	return serveHTTP(ctx, c, "metrics", server, monitor.Handler("rddp "+c.Name, more...))
}

// serveHTTP answers HTTP at the address of a flag until the returned function is called. On
// loopback it speaks plain HTTP. If other hosts can connect, it needs the server's TLS, or
// --insecure.
func serveHTTP(ctx context.Context, c *cli.Command, flag string, server *tls.Config, h http.Handler) (stop func(), err error) {
	address, err := tcpAddress(c.String(flag), "")
	if err != nil {
		return nil, err
	}
	switch err := tlsfiles.CheckListen(ctx, address); {
	case err == nil:
		server = nil
	case !errors.Is(err, tlsfiles.ErrBeyond):
		return nil, err
	case server == nil:
		if err := checkListen(ctx, c, address, ofHTTP); err != nil {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	log := newLog(c)
	log.Info(flag, "address", l.Addr())
	return monitor.Serve(l, server, h, log), nil
}

// healthHandler reports that the process is alive, and whether it accepts new connections.
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
