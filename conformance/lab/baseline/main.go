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
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	p := program{stderr: stderr}
	flags := flag.NewFlagSet("baseline", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&p.path, "rddp", "rddp", "the command, as a `file`")
	flags.IntVar(&p.runs, "runs", checkRuns, "start the command so often, and take the medians")
	flags.IntVar(&p.rounds, "rounds", checkRounds, "rounds of each run")
	flags.DurationVar(&p.time, "time", checkTime, "time that an operation runs in each round")
	flags.IntVar(&p.cpu, "cpu", -1, "the `number` of the CPU; less than 0: the highest")
	writes := flags.Bool("write", false, "write the file instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || p.runs < 1 {
		return errors.New("usage: baseline [-rddp FILE] [-runs N] [-rounds N] [-time DURATION] [-cpu N] [-write] FILE")
	}
	if *writes {
		return writeFile(ctx, p, flags.Arg(0), stdout)
	}
	return checkFile(ctx, p, flags.Arg(0), stdout)
}

// checkFile measures all rows and compares them with the baseline in a file.
func checkFile(ctx context.Context, p program, name string, w io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := readBaseline(f)
	if err != nil {
		return err
	}
	told := false
	measure := func(asked []row) ([]result, error) {
		m, err := p.measure(ctx, asked)
		if err != nil {
			return nil, err
		}
		if !told {
			told = true
			m.tell(w, b)
		}
		return m.results, nil
	}
	return b.decide(measure, w)
}

// writeFile measures all rows and writes them to a file, which keeps its old contents until the
// measurement is over.
func writeFile(ctx context.Context, p program, name string, w io.Writer) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666) // before all the work, because it may fail
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := p.measure(ctx, rows())
	if err != nil {
		return err
	}
	b, err := newBaseline(m)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := b.write(&text); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.Write(text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d rows, medians of %d runs of %d rounds, in %s\n", len(b.Rows), b.Runs, b.Rounds, name)
	return f.Close()
}
