package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/rddp/rddp/conformance/lab/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "early:", err)
		os.Exit(1)
	}
}

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	s, document, err := parseArgs(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	page := report.Document{File: document, Make: "early"}
	if document != "" {
		if err := page.Check(); err != nil {
			return err
		}
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	var text bytes.Buffer
	plots := s.figures(&text, time.Now(), fmt.Sprintf("%s, with %d of the CPUs", report.Host(), runtime.NumCPU()))
	if document == "" {
		_, err := text.WriteTo(out)
		return err
	}
	return page.Write(text.String(), plots)
}

// parseArgs returns the study to run, and the file to write to.
func parseArgs(args []string, log io.Writer) (s *study, document string, err error) {
	s = &study{networks: networks, log: log}
	f := flag.NewFlagSet("early", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&s.revision, "revision", "of an unknown revision", "the revision of rddp, for the record")
	f.StringVar(&document, "document", "", "put the figures between the markers of this `file`, and the plots next to it (default: print them)")
	f.IntVar(&s.rounds, "rounds", 2, "number of rounds, each with a seed of its own")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the first round")
	f.DurationVar(&s.time, "time", 2*time.Second, "time for which a trial posts Writes")
	if err := f.Parse(args); err != nil {
		return nil, "", err
	}
	if s.rounds < 1 || s.time <= 0 {
		return nil, "", fmt.Errorf("-rounds %d, -time %v: too small", s.rounds, s.time)
	}
	if f.NArg() > 0 {
		return nil, "", fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return s, document, nil
}
