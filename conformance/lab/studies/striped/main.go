package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "striped"

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := harness.Parse(name, args, log, func(*flag.FlagSet) {})
	s := harness.Study[trial, outcome]{Name: name, Trials: trials, Figures: figures}
	return s.Measure(ctx, &o, err, out)
}

// A trial is a number of operations of one kind.
type trial struct {
	Way, Pattern     string
	Write            bool
	Servers, Clients int
	Piece            int // length in bytes

	Time  time.Duration
	Count int // operations of each client, instead; 0: none
	Seed  uint64
	Pin   bool // clients have a CPU, and the servers have another

	Addresses []string // of the servers
}

// An outcome is the result of one trial. P50 and P99 are percentiles of the time of an operation,
// in microseconds.
type outcome struct {
	Way, Pattern            string
	Write                   bool
	Servers, Clients, Piece int
	Bytes                   int
	Seconds, P50, P99       float64
	ClientsCPU, ServersCPU  float64 // of the whole trial, in seconds
}

var (
	ways     = []string{wayTCP, wayStream, wayOneSided}
	patterns = []string{contiguous, regular, random}
	servers  = []int{1, 2, 4, 8}
	pieces   = []int{512, 4 << 10, 16 << 10, 64 << 10}
)

// The values of parameters in the trials that do not vary them.
const (
	fewServers  = 4
	usedPiece   = 4 << 10
	manyClients = 4
)

// trials returns the trials of a round.
func trials(o *harness.Options, seed uint64) (trials []trial) {
	add := func(t trial) {
		t.Time, t.Pin, t.Seed = o.Time, o.Pin, seed
		for _, t.Write = range []bool{false, true} {
			for _, t.Way = range ways {
				trials = append(trials, t)
			}
		}
	}
	for _, pattern := range patterns {
		for _, n := range servers {
			add(trial{Pattern: pattern, Servers: n, Clients: 1, Piece: usedPiece})
		}
		add(trial{Pattern: pattern, Servers: fewServers, Clients: manyClients, Piece: usedPiece})
		for _, piece := range pieces {
			if pattern != contiguous && piece != usedPiece {
				add(trial{Pattern: pattern, Servers: fewServers, Clients: 1, Piece: piece})
			}
		}
	}
	return trials
}

// The CPUs of a trial that pins its processes.
const (
	clientsCPU = 0
	serversCPU = 1
)

// The parts.
const (
	partServer  = "server"
	partClients = "clients"
)

var parts = map[string]harness.Part{partServer: harness.PartOf(serveFile), partClients: harness.PartOf(runClients)}

// Run runs a trial. All its processes have ended when it returns.
func (t trial) Run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Time+time.Minute)
	defer cancel()
	var group harness.Group
	for range t.Servers {
		var lines []string
		if lines, err = group.Start(ctx, harness.CPUOf(t.Pin, serversCPU), partServer, t, 1); err != nil {
			break
		}
		t.Addresses = append(t.Addresses, lines...)
	}
	var cpu time.Duration
	if err == nil {
		cpu, err = harness.Outcome(ctx, harness.CPUOf(t.Pin, clientsCPU), partClients, t, &o)
	}
	served, stopped := group.Stop()
	if err = errors.Join(err, stopped); err != nil {
		return o, fmt.Errorf("%+v: %w", t, err)
	}
	o.Way, o.Pattern, o.Write, o.Servers, o.Clients, o.Piece = t.Way, t.Pattern, t.Write, t.Servers, t.Clients, t.Piece
	o.ClientsCPU, o.ServersCPU = cpu.Seconds(), served.Seconds()
	return o, nil
}
