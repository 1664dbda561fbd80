package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// A bench measures in one mode.
type bench struct {
	rddp     string // the command, built before
	revision string
	ops      []operation
	sizes    []int
	rounds   int
	time     time.Duration // of one run
	timeout  time.Duration // deadline of the two processes of a run
	cpu      int           // to which all processes are pinned; negative means not at all
	lookTime time.Duration // of one look at the load
	log      io.Writer     // progress

	counts   map[countKey]int
	values   map[key][]float64 // one for each round; NaN if the run failed
	absent   map[string]string // reasons why a series has no figures: notInstalled, otherMode
	loads    []float64         // shares of processor time that others used; see look
	failures []error           // runs of peers that failed
}

// A key identifies the figures of a series.
type key struct {
	op     operation
	series string
	size   int
}

type countKey struct {
	c    *contender
	size int
}

// Reasons for which a series has no figures.
const (
	notInstalled = "not installed"
	otherMode    = "in the other mode only"
	failed       = "failed"
	notRun       = "–" // the contender does not run with this size
)

// pinned returns the command that runs argv on the bench's CPU.
func (b *bench) pinned(argv []string) []string {
	if b.cpu < 0 {
		return argv
	}
	return append([]string{toolTaskset.command, "-c", strconv.Itoa(b.cpu)}, argv...)
}

// run runs all rounds. Its error is a *notInstalledError if a Debian tool is missing, or a
// *runError if rddp itself fails. Failures of peers are only counted: their other runs are still
// useful.
func (b *bench) run(ctx context.Context) error {
	b.counts, b.values, b.absent = make(map[countKey]int), make(map[key][]float64), make(map[string]string)
	all := make(map[operation][]*contender)
	for _, op := range b.ops {
		for _, c := range contenders(op) {
			there, err := c.tool.installed()
			switch {
			case err != nil:
				return err
			case c.modes == b.others():
				b.miss(c, otherMode)
			case !there:
				b.miss(c, notInstalled)
			default:
				all[op] = append(all[op], c)
			}
		}
	}
	if b.cpu >= 0 {
		if _, err := toolTaskset.installed(); err != nil {
			return err
		}
	}
	for round := range b.rounds {
		for _, size := range b.sizes {
			if err := b.look(ctx); err != nil {
				return err
			}
			for _, op := range b.ops {
				if err := b.once(ctx, round, size, order(all[op], round)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// others returns the other mode.
func (b *bench) others() modes {
	if b.cpu >= 0 {
		return allCPUs
	}
	return oneCPU
}

func (b *bench) miss(c *contender, why string) {
	for _, s := range c.series {
		b.absent[s] = why
	}
}

// order returns the contenders in the order of a round.
func order(all []*contender, round int) []*contender {
	if len(all) == 0 {
		return nil
	}
	first := round / 2 % len(all) // each order is used forwards, then backwards
	now := slices.Concat(all[first:], all[:first])
	if round%2 == 1 {
		slices.Reverse(now)
	}
	return now
}

// once runs each contender of one operation once.
func (b *bench) once(ctx context.Context, round, size int, all []*contender) error {
	for _, c := range all {
		if c.most > 0 && size > c.most {
			continue
		}
		fmt.Fprintf(b.log, "round %d of %d: %s, %s, %d bytes\n", round+1, b.rounds, b.mode(), c.name, size)
		f, err := c.run(ctx, b, size)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			err = &runError{c.name, size, err}
			if c.tool == toolRDDP {
				return err
			}
			b.failures = append(b.failures, err)
			fmt.Fprintln(b.log, err)
		}
		for _, s := range c.series {
			v, ok := f[s]
			if !ok || err != nil {
				v = math.NaN()
			}
			k := key{c.op, s, size}
			b.values[k] = append(b.values[k], v)
		}
	}
	return nil
}

func (b *bench) mode() string {
	if b.cpu >= 0 {
		return "pinned to CPU " + strconv.Itoa(b.cpu)
	}
	return "not pinned"
}

// Numbers of operations of a run.
const (
	fewest = 2 * depth // fi_rma_bw needs more than its window
	most   = 1 << 30
)

// counted runs a contender whose number of operations is an argument. For each new size, it first
// looks for the number that takes about the time of a run. run returns the figures and the seconds
// that n operations took. Each call of run has its own deadline.
func (b *bench) counted(ctx context.Context, c *contender, size int, run func(ctx context.Context, n int) (f figures, took float64, err error)) (figures, error) {
	bounded := func(n int) (f figures, took float64, err error) {
		ctx, cancel := context.WithTimeout(ctx, b.timeout)
		defer cancel()
		return run(ctx, n)
	}
	k := countKey{c, size}
	n := b.counts[k]
	if n == 0 {
		for n = fewest; ; {
			_, took, err := bounded(n)
			if err != nil {
				return nil, err
			}
			enough := took >= b.time.Seconds()/4
			next := float64(n) * min(b.time.Seconds()/max(took, 1e-6), 100)
			n = int(max(fewest, min(next, most)))
			if enough || n == most {
				break
			}
		}
		n = max(n, c.volume/size)
		b.counts[k] = n
	}
	f, _, err := bounded(n)
	return f, err
}
