package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "breakdown:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("breakdown", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print the input again, and one JSON object for each breakdown")
	pinned := flags.Bool("pinned", false, "this process runs on the CPU of the measurement already")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errors.New("usage: rddp perf --json … | breakdown [-json]")
	}
	input, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	m, err := parse(input)
	if err != nil {
		return err
	}
	if m.OneCPU && !*pinned {
		return again(ctx, m.CPU, append([]string{"-pinned"}, args...), input, stdout, stderr)
	}
	all, err := breakdowns(ctx, m)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(stdout, input, all)
	}
	return writeText(stdout, all)
}

// again runs this program on one CPU.
func again(ctx context.Context, cpu int, args []string, input []byte, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(cpu), self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	return cmd.Run()
}

// writeJSON writes the input, and one object for each breakdown.
func writeJSON(w io.Writer, input []byte, all []Breakdown) error {
	if _, err := fmt.Fprintf(w, "%s\n", bytes.TrimRight(input, "\n")); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	for i := range all {
		if err := enc.Encode(struct {
			Kind string `json:"kind"`
			*Breakdown
		}{"breakdown", &all[i]}); err != nil {
			return err
		}
	}
	return nil
}

// writeText writes a table of the layers, and one of the steps of each breakdown.
func writeText(w io.Writer, all []Breakdown) error {
	if err := writeLayers(w, all); err != nil {
		return err
	}
	for i := range all {
		if err := all[i].writeText(w); err != nil {
			return err
		}
	}
	return nil
}
