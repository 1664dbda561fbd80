package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// A lane is the path through one copy of the filter.
type lane struct {
	c     net.Conn
	times harness.Times
	sent  chan sent // blocks on their way, in order
	share int       // number of blocks that used this lane
}

// A sent block has left the source.
type sent struct {
	number uint64
	at     time.Time
}

// Ends are the source and the sink.
type ends struct {
	t     trial
	lanes []*lane
	block []byte
	sum   uint32

	mu     sync.Mutex
	moved  sync.Cond
	onWay  []int // +checklocks:mu
	failed error // +checklocks:mu
}

func newEnds(t trial) (*ends, error) {
	e := &ends{t: t, onWay: make([]int, len(t.Addresses))}
	e.moved.L = &e.mu
	e.block, e.sum = newBlock(t.Size, t.Seed)
	for _, a := range t.Addresses {
		c, err := harness.Dial(a, config(t.Way))
		if err != nil {
			e.close()
			return nil, err
		}
		e.lanes = append(e.lanes, &lane{c: c, times: harness.NewTimes(), sent: make(chan sent, t.Window)})
	}
	return e, nil
}

// close closes the connections, and waits until the copies have noticed.
func (e *ends) close() (err error) {
	for _, l := range e.lanes {
		err = errors.Join(err, harness.Close(l.c))
	}
	return err
}

// next waits until a block may leave, and returns the lane that it takes.
func (e *ends) next(number uint64) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		i := int(number % uint64(len(e.onWay)))
		if e.t.Demand {
			for j, n := range e.onWay {
				if n < e.onWay[i] {
					i = j
				}
			}
		}
		if e.failed != nil || e.onWay[i] < e.t.Window {
			e.onWay[i]++
			return i, e.failed
		}
		e.moved.Wait()
	}
}

// back records that a block came back, or that the lane has failed.
func (e *ends) back(i int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onWay[i]--
	e.failed = errors.Join(e.failed, err)
	e.moved.Signal()
}

// source sends blocks until more returns false.
func (e *ends) source(more func(number uint64) bool) error {
	defer func() {
		for _, l := range e.lanes {
			close(l.sent)
		}
	}()
	for number := uint64(0); more(number); number++ {
		i, err := e.next(number)
		if err != nil {
			return err
		}
		l := e.lanes[i]
		l.share++
		setNumber(e.block, number)
		l.sent <- sent{number, time.Now()}
		if _, err := l.c.Write(e.block); err != nil {
			return err
		}
	}
	return nil
}

// sink receives the blocks of a lane.
func (e *ends) sink(i int) {
	l, memory := e.lanes[i], make([]byte, maxBlock)
	for s := range l.sent {
		block, err := readBlock(l.c, memory)
		if err == nil {
			err = check(block, s.number, e.t.Size, e.sum)
		}
		l.times.Add(time.Since(s.at))
		e.back(i, err)
		if err != nil {
			return
		}
	}
}

// run sends blocks through all lanes, and waits until all have come back.
func (e *ends) run(more func(number uint64) bool) (time.Duration, error) {
	begin := time.Now()
	var sinks sync.WaitGroup
	for i := range e.lanes {
		sinks.Go(func() { e.sink(i) })
	}
	err := e.source(more)
	if err != nil {
		for _, l := range e.lanes {
			l.c.Close() // ends the sinks
		}
	}
	sinks.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(begin), errors.Join(err, e.failed)
}

// runEnds is the process of source and sink. It reports the outcome.
func runEnds(_ context.Context, t trial) error {
	e, err := newEnds(t)
	if err != nil {
		return err
	}
	end := time.Now().Add(t.Time)
	spent, err := e.run(func(number uint64) bool {
		if t.Count > 0 {
			return number < uint64(t.Count)
		}
		return time.Now().Before(end)
	})
	if err = errors.Join(err, e.close()); err != nil {
		return err
	}
	o, times := outcome{Seconds: spent.Seconds()}, harness.NewTimes()
	for _, l := range e.lanes {
		times.Merge(l.times)
		o.Blocks = append(o.Blocks, l.share)
	}
	o.P50, o.P99 = times.At(50).Seconds()*1e6, times.At(99).Seconds()*1e6
	return harness.Report(o)
}
