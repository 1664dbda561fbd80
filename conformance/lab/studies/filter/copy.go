package main

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/extsock"
)

// The connections of a trial.
const (
	wayTCP    = "tcp"
	wayStream = "stream" // the byte stream of an extended socket
	wayPlaced = "placed" // the same, and RDMA Writes place long Writes
)

// crossover is the length in bytes from which a Write is placed by RDMA Write, by wayPlaced alone.
// By default a connection does so only for Writes that are longer than all blocks of this study.
const crossover = 64 << 10

// config returns the settings of an extended socket, or nil for TCP.
func config(way string) *extsock.Config {
	switch way {
	case wayStream:
		return &extsock.Config{Startup: extsock.StartupRequire}
	case wayPlaced:
		return &extsock.Config{Startup: extsock.StartupRequire, Crossover: crossover}
	}
	return nil
}

// serveCopy is the process of a copy of the filter. It serves one connection.
func serveCopy(_ context.Context, t trial) error {
	l, err := harness.Listen(config(t.Way))
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer c.Close()
			err = t.filterAll(c)
		}
		if err != nil {
			harness.Fail(err)
		}
	}()
	return harness.Serve(l.Addr())
}

// An arrived block waits for the filter.
type arrived struct {
	block []byte
	at    time.Time
}

// filterAll filters the blocks of c until its peer has sent all of them.
func (t *trial) filterAll(c net.Conn) error {
	queue, free := make(chan arrived, t.Window), make(chan []byte, t.Window+1)
	for range t.Window + 1 {
		free <- make([]byte, maxBlock)
	}
	var failure error
	go func() {
		defer close(queue)
		for {
			block, err := readBlock(c, <-free)
			if err != nil {
				failure = err
				return
			}
			queue <- arrived{block, time.Now()}
		}
	}()
	var ready time.Time // when the filter is finished with the previous block
	for a := range queue {
		if a.at.After(ready) {
			ready = a.at
		}
		ready = ready.Add(time.Duration(float64(len(a.block)) * t.Cost * t.Slow))
		if t.Cost > 0 {
			time.Sleep(time.Until(ready))
		}
		filter(a.block)
		if _, err := c.Write(a.block); err != nil {
			return err
		}
		free <- a.block[:maxBlock]
	}
	if errors.Is(failure, io.EOF) {
		return nil
	}
	return failure
}
