package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock/stats"
)

// A study is all trials.
type study struct {
	networks []network
	rounds   int
	time     time.Duration // of a trial
	seed     uint64        // of the first round
	revision string        // of rddp
	log      io.Writer

	points []point
}

// A point is the result of all rounds with one loss and one number of connections.
type point struct {
	network       *network
	loss          float64
	connections   int
	without, with outcome // early placement
}

// run runs all trials.
func (s *study) run(ctx context.Context) error {
	for i := range s.networks {
		n := &s.networks[i]
		for _, loss := range n.losses {
			for _, connections := range n.counts() {
				p := point{network: n, loss: loss, connections: connections}
				if err := s.runPoint(ctx, &p); err != nil {
					return err
				}
				s.points = append(s.points, p)
			}
		}
	}
	return nil
}

// runPoint runs the rounds of a point.
func (s *study) runPoint(ctx context.Context, p *point) error {
	for round := range s.rounds {
		if err := s.measure(ctx, p, s.seed+uint64(round)); err != nil {
			return err
		}
	}
	for _, o := range []*outcome{&p.without, &p.with} {
		slices.Sort(o.all)
		slices.Sort(o.behind)
	}
	fmt.Fprintf(s.log, "%s, loss %s, %d connections: %d segments behind a gap without early placement, %d with\n", p.network.name, percent(p.loss),
		p.connections, len(p.without.behind), len(p.with.behind))
	return nil
}

// measure runs the two trials of one round at once, and adds their results to p.
func (s *study) measure(ctx context.Context, p *point, seed uint64) error {
	var outcomes [2]outcome
	var errs [2]error
	var both sync.WaitGroup
	for i, early := range []bool{false, true} {
		both.Go(func() {
			outcomes[i], errs[i] = trial{network: *p.network, connections: p.connections, loss: p.loss, early: early, seed: seed, time: s.time}.run(ctx)
		})
	}
	both.Wait()
	p.without.add(&outcomes[0])
	p.with.add(&outcomes[1])
	return errors.Join(errs[:]...)
}

// add adds the outcome of another trial.
func (o *outcome) add(other *outcome) {
	o.result.add(&other.result)
	o.emss = other.emss
	addStats(&o.stats, &other.stats)
}

// addStats adds the counts that the document shows.
func addStats(s, other *stats.Counts) {
	s.Received.FPDUs += other.Received.FPDUs
	s.EarlyFPDUs += other.EarlyFPDUs
	s.SavedCopies += other.SavedCopies
	s.BufferedOctets += other.BufferedOctets
}

// k returns the value of K in the model of a full link.
func (p *point) k() float64 { return p.fullLink().k(p.connections) }

// roundTrip returns the mean round trip in seconds, with the wait in the link's queue. An ACK takes
// the link's delay.
func (p *point) roundTrip() float64 { return (p.without.delay() + p.network.delay).Seconds() }

// bandwidthDelay returns BufferSizeTCP with K = 1, for the round trip and the rate of all
// connections that were measured.
func (p *point) bandwidthDelay() float64 { return bufferSizeTCP(1, p.without.rate(), p.roundTrip()) }

// nonAligned returns BufferSizeNAF with K1 = K2 = 1, and aligned returns BufferSizeAF with K2 = 1.
func (p *point) nonAligned() float64 { return bufferSizeNAF(1, 1, p.with.emss, p.connections) }
func (p *point) aligned() float64    { return bufferSizeAF(1, p.with.emss) }

// fullLink returns the model of one of the connections, with that round trip.
func (p *point) fullLink() fullLink {
	return fullLink{p.loss, max(1, int(p.bandwidthDelay()/float64(p.connections)/float64(p.without.emss)+0.5))}
}
