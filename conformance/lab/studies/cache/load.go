package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// A tally counts the operations of clients in the measured time. Times are those of requests.
type tally struct {
	requests, updates, hits, stale int
	times                          harness.Times
}

func newTally() *tally { return &tally{times: harness.NewTimes()} }

func (t *tally) add(other *tally) {
	t.requests += other.requests
	t.updates += other.updates
	t.hits += other.hits
	t.stale += other.stale
	t.times.Merge(other.times)
}

// A client issues one operation after the other.
type client struct {
	t     trial
	proxy *proxy
	acked ledger
	link  *link
	rand  *rand.Rand
	zipf  *rand.Zipf
	tally *tally
}

// The exponent and offset of Zipf's law.
const (
	zipfS = 1.1
	zipfV = 1
)

func newClient(t trial, number int, p *proxy, acked ledger, l *link) *client {
	r := rand.New(rand.NewPCG(t.Seed, uint64(number)))
	return &client{t: t, proxy: p, acked: acked, link: l, rand: r, zipf: rand.NewZipf(r, zipfS, zipfV, uint64(t.Pages-1)), tally: newTally()}
}

// run issues operations until ctx is done, or n of them if n is not 0.
func (c *client) run(ctx context.Context, n int) error {
	for i := 0; ctx.Err() == nil && (n == 0 || i < n); i++ {
		page := uint32(c.zipf.Uint64())
		op := c.request
		if c.rand.Float64() < c.t.Updates {
			op = c.update
		}
		if err := op(page); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) update(page uint32) error {
	version, err := c.link.ask(c.link.plain, opUpdate, page, counterLen)
	if err != nil {
		return err
	}
	c.acked.acknowledge(page, version)
	c.tally.updates++
	return nil
}

// request requests a page and judges the response.
func (c *client) request(page uint32) error {
	oldest := c.acked[page].Load()
	begin := time.Now()
	response, hit, err := c.proxy.serve(c.t.Way, c.link, page)
	c.tally.times.Add(time.Since(begin))
	if err != nil {
		return err
	}
	if response.version < oldest {
		c.tally.stale++
	}
	if hit {
		c.tally.hits++
	}
	c.tally.requests++
	return checkVersion(response.page, page, response.version)
}

// runProxies is the process of the proxies. It reports the outcome.
func runProxies(ctx context.Context, t trial) error {
	clients, err := t.clients()
	defer func() {
		for _, c := range clients {
			c.link.close()
		}
	}()
	if err != nil {
		return err
	}
	// With full caches and no updates there may never be another request.
	if _, err := clients[0].link.ask(clients[0].link.plain, opPoll, 0, counterLen); err != nil {
		return err
	}
	if _, err := runClients(ctx, clients, t.Warm, t.Count); err != nil {
		return err
	}
	spent, err := runClients(ctx, clients, t.Time, t.Count)
	if err != nil {
		return err
	}
	sum := newTally()
	for _, c := range clients {
		sum.add(c.tally)
	}
	return harness.Report(outcome{
		Requests: sum.requests, Updates: sum.updates, Hits: sum.hits, Stale: sum.stale,
		Seconds: spent.Seconds(), P50: sum.times.At(50).Seconds() * 1e6, P99: sum.times.At(99).Seconds() * 1e6,
	})
}

// clients returns the connected clients of all proxies. With an error it returns those connected so
// far.
func (t trial) clients() (clients []*client, err error) {
	acked, pages := make(ledger, t.Pages), firstPages(t.Pages, t.Work)
	for range t.Proxies {
		p := newProxy(pages)
		for range t.Clients {
			l, err := dial(t.Way, t.Addresses)
			if err != nil {
				return clients, err
			}
			clients = append(clients, newClient(t, len(clients), p, acked, l))
		}
	}
	return clients, nil
}

// runClients resets the clients' counts, and lets them run for a time, or for count operations each
// if count is not 0. It returns the time that all of them took.
func runClients(ctx context.Context, clients []*client, limit time.Duration, count int) (time.Duration, error) {
	if count == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	begin := time.Now()
	errs := make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		c.tally = newTally()
		all.Go(func() { errs[i] = c.run(ctx, count) })
	}
	all.Wait()
	return time.Since(begin), errors.Join(errs...)
}
