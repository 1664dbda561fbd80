package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "cache"

// A study is what to measure.
type study struct {
	harness.Options
	trial trial // what is the same in all trials
	log   io.Writer
}

// run measures what the arguments ask for. It writes the figures to the document, or to out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	s := &study{log: log, trial: trial{Pages: 1000, Proxies: 2, Clients: 4}}
	var err error
	s.Options, err = harness.Parse(name, args, log, func(f *flag.FlagSet) {
		f.DurationVar(&s.trial.Warm, "warm", 100*time.Millisecond, "time for which clients run before a trial is measured")
		f.IntVar(&s.trial.Work, "work", 10, "hashes for each of the 128 blocks of a page")
	})
	s.trial.Time, s.trial.Pin = s.Time, s.Pin
	return s.Run(name, err, out, func() (any, string, map[string]string, error) {
		outcomes, err := s.measure(ctx)
		if err != nil {
			return nil, "", nil, err
		}
		text, plots := s.figures(summarize(outcomes))
		return outcomes, text, plots, nil
	})
}

// What the trials go through.
var (
	updateShares = []float64{0, 0.01, 0.05, 0.2, 0.5}
	loads        = []int{0, 1, 2, 4, 8} // goroutines
)

// The load and the share of updates that the trials of the other one have.
const (
	loaded    = 4
	usedShare = 0.05
)

// trials returns the trials of a round, of which every second one goes backwards.
func (s *study) trials(round int) (trials []trial) {
	t := s.trial
	t.Seed = s.Seed + uint64(round)
	for _, t.Updates = range updateShares {
		for _, t.Busy = range loads {
			if t.Busy != 0 && t.Busy != loaded && t.Updates != usedShare {
				continue
			}
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

// measure runs the trials of all rounds.
func (s *study) measure(ctx context.Context) (outcomes []outcome, err error) {
	for round := range s.Rounds {
		trials := s.trials(round)
		for i, t := range trials {
			fmt.Fprintf(s.log, "round %d of %d, trial %d of %d\n", round+1, s.Rounds, i+1, len(trials))
			o, err := t.run(ctx)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, nil
}
