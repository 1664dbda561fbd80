package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "filter"

// run measures what the arguments ask for. It writes the figures to the document, or to out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := harness.Parse(name, args, log, func(*flag.FlagSet) {})
	return o.Run(name, err, out, func() (any, string, map[string]string, error) {
		outcomes, err := measure(ctx, &o, log)
		if err != nil {
			return nil, "", nil, err
		}
		text, plots := figures(&o, outcomes)
		return outcomes, text, plots, nil
	})
}

var (
	ways  = []string{wayTCP, wayStream, wayPlaced}
	sizes = []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
)

// cost is the time that the filter needs for a byte, in ns: that of the research.
const cost = 18

// plans are the trials of each way and size.
var plans = []trial{
	{Copies: 1, Window: 1, Uneven: 1},
	{Copies: 1, Window: 8, Uneven: 1},
	{Copies: 2, Window: 8, Uneven: 1, Cost: cost},
	{Copies: 2, Window: 8, Uneven: 4, Cost: cost},
	{Copies: 2, Window: 8, Uneven: 4, Cost: cost, Demand: true},
}

// measure runs the trials of all rounds. Every second round goes backwards.
func measure(ctx context.Context, s *harness.Options, log io.Writer) (outcomes []outcome, err error) {
	for round := range s.Rounds {
		trials := trials(s, round)
		for i, t := range trials {
			fmt.Fprintf(log, "round %d of %d, trial %d of %d\n", round+1, s.Rounds, i+1, len(trials))
			o, err := t.run(ctx)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, nil
}

func trials(s *harness.Options, round int) (trials []trial) {
	for _, t := range plans {
		t.Time, t.Pin, t.Seed = s.Time, s.Pin, s.Seed+uint64(round)
		for _, t.Size = range sizes {
			for _, t.Way = range ways {
				trials = append(trials, t)
			}
		}
	}
	if round%2 == 1 {
		slices.Reverse(trials)
	}
	return trials
}
