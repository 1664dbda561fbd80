package main

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// A client issues one operation after the other.
type client struct {
	t      trial
	layout *layout
	links  []link
	times  harness.Times
	bytes  int
}

func newClient(t trial, number int) (*client, error) {
	c := &client{t: t, layout: newLayout(t, number), times: harness.NewTimes()}
	for _, a := range t.Addresses {
		l, err := dial(t.Way, a)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.links = append(c.links, l)
	}
	return c, nil
}

func (c *client) close() (err error) {
	for _, l := range c.links {
		err = errors.Join(err, l.close())
	}
	return err
}

// do moves the pieces of a list from or to all servers at once.
func (c *client) do(op byte, list []piece) error {
	extents := split(list, len(c.links))
	for i, l := range c.links {
		if err := l.begin(op, extents[i]); err != nil {
			return err
		}
	}
	for i, l := range c.links {
		if err := l.end(op, extents[i]); err != nil {
			return err
		}
	}
	return nil
}

var errBytes = errors.New("a piece was read back with other bytes")

// check writes a list and reads it back.
func (c *client) check() error {
	list := c.layout.next()
	var wrote [][]byte
	for _, p := range list {
		for i := range p.memory {
			p.memory[i] = byte(c.layout.rand.Uint32())
		}
		wrote = append(wrote, bytes.Clone(p.memory))
	}
	if err := c.do(opWrite, list); err != nil {
		return err
	}
	clear(c.layout.memory)
	if err := c.do(opRead, list); err != nil {
		return err
	}
	for i, p := range list {
		if !bytes.Equal(p.memory, wrote[i]) {
			return errBytes
		}
	}
	return nil
}

// run issues operations until the end, or Count of them.
func (c *client) run(end time.Time) error {
	op := byte(opRead)
	if c.t.Write {
		op = opWrite
	}
	for i := 0; c.t.Count > 0 && i < c.t.Count || c.t.Count == 0 && time.Now().Before(end); i++ {
		list, begin := c.layout.next(), time.Now()
		if err := c.do(op, list); err != nil {
			return err
		}
		c.times.Add(time.Since(begin))
		for _, p := range list {
			c.bytes += len(p.memory)
		}
	}
	return nil
}

// runClients is the process of all clients. It reports the outcome.
func runClients(_ context.Context, t trial) (err error) {
	var clients []*client
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.close())
		}
	}()
	for i := range t.Clients {
		c, err := newClient(t, i)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	if err := all(clients, (*client).check); err != nil {
		return err
	}
	begin := time.Now()
	if err := all(clients, func(c *client) error { return c.run(begin.Add(t.Time)) }); err != nil {
		return err
	}
	o, times := outcome{Seconds: time.Since(begin).Seconds()}, harness.NewTimes()
	for _, c := range clients {
		o.Bytes += c.bytes
		times.Merge(c.times)
	}
	o.P50, o.P99 = times.At(50).Seconds()*1e6, times.At(99).Seconds()*1e6
	if err := all(clients, (*client).check); err != nil {
		return err
	}
	return harness.Report(o)
}

// all calls do for all clients at once.
func all(clients []*client, do func(*client) error) error {
	errs := make([]error, len(clients))
	var done sync.WaitGroup
	for i, c := range clients {
		done.Go(func() { errs[i] = do(c) })
	}
	done.Wait()
	return errors.Join(errs...)
}
