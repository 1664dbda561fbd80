package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/rddp/rddp/conformance/lab/report"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) == 3 && isPart(os.Args[1]) {
		err = runPart(ctx, os.Args[1], os.Args[2])
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cache:", err)
		os.Exit(1)
	}
}

// A study is what to measure.
type study struct {
	trial    trial // what is the same in all trials
	rounds   int
	revision string
	log      io.Writer
}

// parseArgs returns what to measure, and the file to write to.
func parseArgs(args []string, log io.Writer) (s *study, document string, err error) {
	s = &study{log: log, trial: trial{Pages: 1000, Proxies: 2, Clients: 4}}
	f := flag.NewFlagSet("cache", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&s.revision, "revision", "an unknown revision", "the revision of rddp, for the record")
	f.StringVar(&document, "document", "", "put the figures between the markers of this `file`, and plots and raw results next to it (default: print them)")
	f.IntVar(&s.rounds, "rounds", 3, "number of rounds; a figure is the median of them")
	f.DurationVar(&s.trial.Warm, "warm", 200*time.Millisecond, "time for which clients run before a trial is measured")
	f.DurationVar(&s.trial.Time, "time", 600*time.Millisecond, "time for which a trial is measured")
	f.IntVar(&s.trial.Work, "work", 10, "hashes for each of the 128 blocks of a page")
	f.Uint64Var(&s.trial.Seed, "seed", 1, "seed of the first round")
	if err := f.Parse(args); err != nil {
		return nil, "", err
	}
	if s.rounds < 1 || s.trial.Time <= 0 || s.trial.Warm <= 0 || s.trial.Work < 1 {
		return nil, "", fmt.Errorf("-rounds %d, -time %v, -warm %v, -work %d: too small", s.rounds, s.trial.Time, s.trial.Warm, s.trial.Work)
	}
	if f.NArg() > 0 {
		return nil, "", fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return s, document, nil
}

// run measures what the arguments ask for. It writes the figures to the document, or to out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	s, document, err := parseArgs(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	page := report.Document{File: document, Make: "study-cache"}
	if document != "" {
		if err := page.Check(); err != nil {
			return err
		}
	}
	if err := harness.CanPin(); err != nil {
		fmt.Fprintln(log, "processes share all CPUs:", err)
	}
	s.trial.Pin = harness.CanPin() == nil
	outcomes, err := s.measure(ctx)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(outcomes, "", " ")
	if err != nil {
		return err
	}
	text, files := s.figures(summarize(outcomes))
	if document == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	files["cache.json"] = string(raw) + "\n"
	return page.Write(text, files)
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
	t.Seed += uint64(round)
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
	for round := range s.rounds {
		trials := s.trials(round)
		for i, t := range trials {
			fmt.Fprintf(s.log, "round %d of %d, trial %d of %d\n", round+1, s.rounds, i+1, len(trials))
			o, err := t.run(ctx)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, nil
}
