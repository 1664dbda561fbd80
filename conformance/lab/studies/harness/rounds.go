package harness

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Runner is a trial of a study. Run has ended all its processes when it returns.
type Runner[Outcome any] interface {
	Run(ctx context.Context) (Outcome, error)
}

// A Study measures trials. Their outcomes are the raw results.
type Study[Trial Runner[Outcome], Outcome any] struct {
	Name   string
	Trials func(o *Options, seed uint64) []Trial // of a round
	// Figures returns the generated part of the document, and plots by the names of their files.
	Figures func(o *Options, outcomes []Outcome) (text string, plots map[string]string)
}

// A record contains the raw results in the file next to the document, in the order of the trials.
type record[Outcome any] struct {
	Day        string // of the first round
	Conditions string // the same for all rounds
	Outcomes   []Outcome
}

// Measure runs a study whose options were parsed, and publishes the results. err is the error of
// Parse. With a document the raw results are kept after each round, so that a study may be measured
// in parts.
func (s Study[Trial, Outcome]) Measure(ctx context.Context, o *Options, err error, out io.Writer) error {
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	r := record[Outcome]{Day: time.Now().UTC().Format(time.DateOnly), Conditions: o.conditions()}
	if o.Document != "" {
		if err := o.Page(s.Name).Check(); err != nil {
			return err
		}
	}
	if o.More {
		if r, err = earlier(o, s.file(o), r); err != nil {
			return err
		}
	}
	done := len(r.Outcomes) / max(len(s.Trials(o, 0)), 1)
	for round := done; round < done+o.Rounds; round++ {
		outcomes, err := s.round(ctx, o, round)
		if err != nil {
			return err
		}
		r.Outcomes = append(r.Outcomes, outcomes...)
		if err := s.keep(o, &r); err != nil {
			return err
		}
	}
	o.Rounds, o.day, o.measured = done+o.Rounds, r.Day, r.Conditions
	text, plots := s.Figures(o, r.Outcomes)
	return o.Publish(s.Name, text, plots, out)
}

// round returns the outcomes of a round in the order of its trials. Every second round goes
// backwards.
func (s *Study[Trial, Outcome]) round(ctx context.Context, o *Options, round int) ([]Outcome, error) {
	trials := s.Trials(o, o.Seed+uint64(round))
	outcomes := make([]Outcome, len(trials))
	for n := range trials {
		i := n
		if round%2 == 1 {
			i = len(trials) - 1 - n
		}
		fmt.Fprintf(o.log, "round %d, trial %d of %d\n", round+1, n+1, len(trials))
		var err error
		if outcomes[i], err = trials[i].Run(ctx); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// file returns the name of the file with the raw results.
func (s *Study[Trial, Outcome]) file(o *Options) string {
	return filepath.Join(filepath.Dir(o.Document), s.Name+".json")
}

func (s *Study[Trial, Outcome]) keep(o *Options, r *record[Outcome]) error {
	if o.Document == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.file(o), append(b, '\n'), 0o644)
}

// earlier returns the raw results in the file, or fresh if there is no file and there are rounds to
// measure. Rounds that are added must have the same conditions.
func earlier[Outcome any](o *Options, file string, fresh record[Outcome]) (r record[Outcome], err error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && o.Rounds > 0 {
		return fresh, nil
	} else if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	if o.Rounds > 0 && r.Conditions != fresh.Conditions {
		return r, fmt.Errorf("%w: %s has %q, and now they are %q", errConditions, file, r.Conditions, fresh.Conditions)
	}
	return r, nil
}

var errConditions = errors.New("rounds cannot be added under other conditions")
