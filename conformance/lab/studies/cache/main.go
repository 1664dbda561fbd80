package main

import (
	"context"
	"flag"
	"io"
	"os"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "cache"

// A study selects the measurements.
type study struct {
	harness.Options
	trial trial // the common parameters of all trials
}

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	s := &study{trial: trial{Pages: 1000, Proxies: 2, Clients: 4}}
	var err error
	s.Options, err = harness.Parse(name, args, log, func(f *flag.FlagSet) {
		f.DurationVar(&s.trial.Warm, "warm", 100*time.Millisecond, "time for which clients run before a trial is measured")
		f.IntVar(&s.trial.Work, "work", 10, "hashes for each of the 128 blocks of a page")
	})
	if err == nil {
		dir, failed := os.MkdirTemp("", "study-cache-")
		if failed != nil {
			return failed
		}
		defer os.RemoveAll(dir)
		if s.trial.Command, err = harness.BuildCommand(ctx, dir); err != nil {
			return err
		}
	}
	return harness.Study[trial, outcome]{Name: name, Trials: s.trials, Figures: s.figures}.Measure(ctx, &s.Options, err, out)
}

// The values that the trials go through.
var (
	updateShares = []float64{0, 0.01, 0.05, 0.2, 0.5}
	loads        = []int{0, 1, 2, 4, 8} // goroutines
)

// The load for the trials that vary the share of updates, and the share for those that vary the
// load.
const (
	loaded    = 4
	usedShare = 0.05
)

// trials returns the trials of a round.
func (s *study) trials(o *harness.Options, seed uint64) (trials []trial) {
	t := s.trial
	t.Time, t.Pin, t.Seed = o.Time, o.Pin, seed
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
	return trials
}
