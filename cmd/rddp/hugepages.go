package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/extsock"
)

func hugePagesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "huge-pages", Usage: "keep the heap in huge pages (Linux 6.1): cheaper beside hundreds of connections and after pauses, for some memory"}
}

// hugePages keeps the heap in huge pages until stop is called, if the flag says so. It fails if the
// system cannot.
func hugePages(ctx context.Context, c *cli.Command, log *slog.Logger) (stop func(), err error) {
	if !c.Bool("huge-pages") {
		return func() {}, nil
	}
	return keepCollapsed(ctx, extsock.CollapseHeap, log)
}

// collapseEvery is the time between two calls of keepCollapsed. A call that finds nothing to move
// takes a fraction of a millisecond.
const collapseEvery = 10 * time.Second

// keepCollapsed calls collapse now and again and again, because the heap grows with the
// connections, and the garbage collector returns parts of it, which then come back as small pages.
// If a later call fails, it says so and goes on: there may be no free huge page at the moment.
func keepCollapsed(ctx context.Context, collapse func(context.Context) (int64, error), log *slog.Logger) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	if _, err := collapse(ctx); err != nil {
		cancel()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(collapseEvery)
		defer tick.Stop()
		failed := false
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			n, err := collapse(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil && !failed {
				log.Warn("the heap is not in huge pages", "err", err)
			}
			if failed = err != nil; !failed {
				log.Debug("the heap is in huge pages", "bytes", n)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}, nil
}
