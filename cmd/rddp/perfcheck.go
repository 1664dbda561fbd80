package main

import (
	"bytes"
	"context"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/perf"
)

// checkFlags are the flags of perf that make sense with --check and --baseline. The check chooses
// everything else, because its figures must be comparable.
var checkFlags = []string{"self", "check", "baseline", "rounds", "time", "cpu", "timeout"}

// checkUsage checks the flags of a command line with --check or --baseline.
func checkUsage(c *cli.Command) error {
	if !c.Bool("self") {
		return usage("--check and --baseline need --self, because both ends share one CPU")
	}
	if c.IsSet("check") && c.IsSet("baseline") {
		return usage("give one of --check and --baseline")
	}
	allowed := make(map[string]bool)
	for _, name := range checkFlags {
		allowed[name] = true
	}
	for _, name := range c.LocalFlagNames() {
		if !allowed[name] {
			return usage("--check and --baseline choose what to measure: they do not go with --%s", name)
		}
	}
	return nil
}

// checkPerf measures the rows of the check and compares them with the baseline in a file.
func checkPerf(ctx context.Context, c *cli.Command, o *perf.Options) error {
	f, err := os.Open(c.String("check"))
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := perf.ReadBaseline(f)
	if err != nil {
		return err
	}
	return perf.Check(ctx, o, b, c.Root().Writer)
}

// writeBaseline measures the rows of the check and writes a baseline to a file. The file keeps its
// old contents until the measurement is over.
func writeBaseline(ctx context.Context, c *cli.Command, o *perf.Options) error {
	f, err := os.OpenFile(c.String("baseline"), os.O_WRONLY|os.O_CREATE, 0o666) // before all the work, because it may fail
	if err != nil {
		return err
	}
	defer f.Close()
	o.ForCheck(perf.CheckRows())
	r, err := perf.Run(ctx, o)
	if err != nil {
		return err
	}
	b, err := perf.NewBaseline(r)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.Write(text.Bytes()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return r.WriteText(c.Root().Writer)
}
