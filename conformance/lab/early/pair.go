package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A pair is the two ends of a connection.
type pair struct {
	from, to     *extsock.Conn
	sending      *sendingStream
	record       *record
	target       rdmap.Handle  // of the Region
	begun, ended time.Duration // the first Write is posted, and the last one has been
}

// newPair makes the two ends of the connection with the Streams a and b.
func newPair(a, b toe.Stream, begin time.Time) *pair {
	r := newRecord(begin)
	p := &pair{sending: newSendingStream(a, r), record: r}
	p.from = extsock.NewConn(p.sending, true, config())
	p.to = extsock.NewConn(&receivingStream{Stream: b, record: r}, false, config())
	return p
}

// config returns the Config of both ends. Markers are there with and without early placement.
func config() *extsock.Config {
	return &extsock.Config{Markers: true, Messages: true, SendDepth: depth}
}

// start switches both ends to DDP mode, and registers the Region.
func (p *pair) start(ctx context.Context) error {
	switched := make(chan error, 1)
	go func() { switched <- p.to.EnableDDP(ctx, nil) }()
	if err := errors.Join(p.from.EnableDDP(ctx, nil), <-switched); err != nil {
		return err
	}
	if s := p.to.ConnectionState(); !s.ReceivesMarkers || !s.CRC {
		return errors.New("the connection has no Markers, or no CRC")
	}
	region, err := p.to.Register(p.record.memory, ddp.RemoteWrite)
	if err != nil {
		return err
	}
	p.target = region.Handle()
	p.record.start(p.target.TO)
	return nil
}

// write posts Writes for the time d, and at least the given number of them, and waits until their
// payload is in place.
func (p *pair) write(ctx context.Context, d time.Duration, least int) error {
	source := make([]byte, depth*writeSize)
	writes := 0
	begin := time.Now()
	p.begun = begin.Sub(p.record.begin)
	for ; writes < least || time.Since(begin) < d; writes++ {
		if writes >= depth {
			if err := p.complete(ctx); err != nil {
				return err
			}
		}
		data := source[writes%depth*writeSize:][:writeSize]
		fill(data, writes)
		remote, err := p.target.Slice(int64(writes%slots*writeSize), writeSize)
		if err != nil {
			return err
		}
		if err := p.from.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: remote}); err != nil {
			return err
		}
	}
	p.ended = time.Since(p.record.begin)
	for range min(writes, depth) {
		if err := p.complete(ctx); err != nil {
			return err
		}
	}
	p.record.end()
	if err := p.arrive(ctx); err != nil {
		return err
	}
	return p.record.check(writes)
}

// standstill is the time after which a TCP that has lost its last packets may stand still.
const standstill = 2 * time.Second

// arrive waits until all payload is in place. gVisor's TCP stalls in rare cases after a loss, with
// no timer set: see package usertcp. It continues when it gets something to send, which here is an
// empty RDMA Write. That comes after the window in which the trial measures.
func (p *pair) arrive(ctx context.Context) error {
	still := time.NewTicker(standstill)
	defer still.Stop()
	for {
		select {
		case <-p.record.done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the payload does not arrive: %w", ctx.Err())
		case <-still.C:
		}
		if err := p.from.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite}); err != nil {
			return err
		}
		if err := p.complete(ctx); err != nil {
			return err
		}
	}
}

// complete waits for the oldest Write.
func (p *pair) complete(ctx context.Context) error {
	done, err := p.from.SendCQ().Wait(ctx)
	if err == nil && done.Status != rdmap.StatusOK {
		err = fmt.Errorf("a Write ended with %v", done.Status)
	}
	return err
}

func (p *pair) close() {
	p.from.Close()
	p.to.Close()
}
