package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
)

// proxyRoutes returns the routes from the command line or the file. Errors are *usageErrors, except
// for a file that cannot be read.
func proxyRoutes(ctx context.Context, c *cli.Command) ([]proxy.Route, error) {
	if c.IsSet("routes") {
		routes, err := awaitRoutes(ctx, c.String("routes"))
		if err == nil && routes[0].Listen.DDP && c.Bool("fallback") {
			err = errFallback
		}
		return routes, err
	}
	var errs [2]error
	var r proxy.Route
	r.Listen, errs[0] = proxy.ParseAddress(c.String("listen"))
	r.To, errs[1] = proxy.ParseAddress(c.String("to"))
	switch {
	case errors.Join(errs[:]...) != nil:
		return nil, usage("%w", errors.Join(errs[:]...))
	case r.Listen.DDP == r.To.DDP:
		return nil, usage("--listen %v --to %v: %w", r.Listen, r.To, proxy.ErrSides)
	case r.Listen.DDP && c.Bool("fallback"):
		return nil, errFallback
	}
	return []proxy.Route{r}, nil
}

var errFallback = usage("--fallback is for an entrance, whose target begins with rddp://")

// awaitRoutes is readRoutes, but returns when ctx is done. The file may be a FIFO without a writer.
func awaitRoutes(ctx context.Context, name string) ([]proxy.Route, error) {
	read := make(chan struct{})
	var found []proxy.Route
	var failed error
	go func() {
		defer close(read)
		found, failed = readRoutes(name)
	}()
	select {
	case <-read:
		return found, failed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func readRoutes(name string) ([]proxy.Route, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	routes, err := proxy.ParseRoutes(f)
	if err != nil {
		return nil, usage("%s: %w", name, err)
	}
	return routes, nil
}

// checkRoutes returns a *usageError if other hosts could connect to a route without TLS, and the
// command line does not allow that, or if a route is for an exit and the command is an entrance, or
// the reverse.
func checkRoutes(ctx context.Context, c *cli.Command, cfg *proxy.Config, routes []proxy.Route) error {
	for _, r := range routes {
		remedy := ofServer
		switch isExit := cfg.TLS == nil; {
		case r.Listen.DDP != isExit:
			return usage("%v: %w", r.Listen, proxy.ErrParts)
		case isExit && cfg.Socket.TLS != nil || r.Listen.Network != "tcp":
			continue
		case !isExit:
			remedy = ofPlain
		}
		if err := checkListen(ctx, c, r.Listen.Address, remedy); err != nil {
			return err
		}
	}
	return nil
}

// catchReload returns a channel on which SIGHUP arrives until stop is called. One signal is
// buffered.
func catchReload() (hup <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// reloadRoutes reads the routes again after each signal, until stop is called.
func reloadRoutes(ctx context.Context, c *cli.Command, r *proxy.Router, cfg *proxy.Config, hup <-chan os.Signal) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	reload := func() error {
		routes, err := awaitRoutes(ctx, c.String("routes"))
		if err == nil {
			err = checkRoutes(ctx, c, cfg, routes)
		}
		if err == nil {
			err = r.Set(ctx, routes)
		}
		return err
	}
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-hup:
			}
			if err := reload(); err != nil {
				cfg.Log.Warn(fmt.Sprintf("the routes of before remain in use: %v", err))
			} else {
				cfg.Log.Info("the routes are those of the file", "file", c.String("routes"))
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}
