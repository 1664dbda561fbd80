package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rddp/rddp/conformance/lab/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	b, cpus, document, err := parseArgs(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if document != "" {
		if err := page(document).Check(); err != nil {
			return err
		}
	}
	var all []*bench
	for _, cpu := range cpus {
		mode := *b
		mode.cpu = cpu
		if err := mode.run(ctx); err != nil {
			return err
		}
		all = append(all, &mode)
	}
	text := figuresOf(ctx, time.Now(), all, hostText())
	if document == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	return page(document).Write(text, nil)
}

// page is the document in file.
func page(file string) report.Document { return report.Document{File: file, Make: "bench-peers"} }

// hostText describes the machine.
func hostText() string {
	return report.Host() + ", congestion control " + strings.TrimSpace(report.ReadText("/proc/sys/net/ipv4/tcp_congestion_control"))
}

// parseArgs returns the bench, the CPU of each mode (-1 for all), and the file to write to.
func parseArgs(args []string, log io.Writer) (b *bench, cpus []int, document string, err error) {
	b = &bench{log: log, lookTime: lookTime}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&b.rddp, "rddp", "bin/rddp", "the command rddp")
	f.StringVar(&b.revision, "revision", "of an unknown revision", "the revision of rddp, for the record")
	f.StringVar(&document, "document", "", "put the figures between the markers of this `file` (default: print them)")
	f.IntVar(&b.rounds, "rounds", 5, "number of rounds")
	f.DurationVar(&b.time, "time", 100*time.Millisecond, "time of one run")
	f.DurationVar(&b.timeout, "timeout", 15*time.Second, "deadline of one run")
	sizes := f.String("sizes", "64,1024,4096,16384,65536,1048576", "`list` of bytes of one operation")
	ops := f.String("ops", "write,read,send,latency,stream", "`list` of operations")
	modes := f.String("modes", "all,one", "`list` of all (use all CPUs) and one (pin all processes to one CPU, the highest)")
	if err := f.Parse(args); err != nil {
		return nil, nil, "", err
	}
	for _, text := range strings.Split(*sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 8 || size > 1<<20 { // UCX puts a sequence number into each message
			return nil, nil, "", fmt.Errorf("-sizes: %q is not between 8 and %d", text, 1<<20)
		}
		b.sizes = append(b.sizes, size)
	}
	for _, text := range strings.Split(*ops, ",") {
		op := operation(text)
		if !slices.Contains(operations, op) {
			return nil, nil, "", fmt.Errorf("-ops: %q is not one of %v", text, operations)
		}
		b.ops = append(b.ops, op)
	}
	for _, text := range strings.Split(*modes, ",") {
		switch text {
		case "all":
			cpus = append(cpus, -1)
		case "one":
			cpus = append(cpus, highestCPU(report.Field(report.ReadText("/proc/self/status"), "Cpus_allowed_list")))
		default:
			return nil, nil, "", fmt.Errorf("-modes: %q is neither all nor one", text)
		}
	}
	if b.rounds < 1 || b.time < time.Millisecond || b.timeout <= 2*time.Second || b.timeout <= b.time { // iperf3 runs for a second
		return nil, nil, "", fmt.Errorf("-rounds %d, -time %v, -timeout %v: too small", b.rounds, b.time, b.timeout)
	}
	if f.NArg() > 0 {
		return nil, nil, "", fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return b, cpus, document, nil
}

// highestCPU returns the highest number of a list like 0-3,8, or 0 if the list has no numbers.
func highestCPU(list string) int {
	n, _ := strconv.Atoi(list[strings.LastIndexAny(list, "-,")+1:])
	return n
}
