package main

import (
	"context"
	"flag"
	"io"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "filter"

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := harness.Parse(name, args, log, func(*flag.FlagSet) {})
	s := harness.Study[trial, outcome]{Name: name, Trials: trials, Figures: figures}
	return s.Measure(ctx, &o, err, out)
}

var (
	ways  = []string{wayTCP, wayStream, wayPlaced}
	sizes = []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
)

// cost is the time that the filter needs for a byte, in ns, as in the research.
const cost = 18

// plans are the trials of each way and size.
var plans = []trial{
	{Copies: 1, Window: 1, Uneven: 1},
	{Copies: 1, Window: 8, Uneven: 1},
	{Copies: 2, Window: 8, Uneven: 1, Cost: cost},
	{Copies: 2, Window: 8, Uneven: 4, Cost: cost},
	{Copies: 2, Window: 8, Uneven: 4, Cost: cost, Demand: true},
}

// trials returns the trials of a round.
func trials(o *harness.Options, seed uint64) (trials []trial) {
	for _, t := range plans {
		t.Time, t.Pin, t.Seed = o.Time, o.Pin, seed
		for _, t.Size = range sizes {
			for _, t.Way = range ways {
				trials = append(trials, t)
			}
		}
	}
	return trials
}
