package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

func main() { harness.Main(name, parts, run) }

const name = "reconfiguration"

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := harness.Parse(name, args, log, func(f *flag.FlagSet) { _ = f.Set("time", "2s") })
	s := harness.Study[trial, outcome]{Name: name, Trials: trials, Figures: figures}
	return s.Measure(ctx, &o, err, out)
}

// The ways to the shared state.
const (
	wayStatic = "static" // no server is moved
	wayTCP    = "tcp"    // messages
	wayRead   = "read"   // RDMA, served in the program's process
	wayBeside = "beside" // RDMA, served by another process on the same CPU
	wayFree   = "free"   // the same, without locks and counters
)

var (
	ways   = []string{wayStatic, wayTCP, wayRead, wayBeside, wayFree}
	levels = []int{0, 1, 4}
)

// A trial is a number of bursts.
type trial struct {
	Way  string
	Busy int // goroutines of the program that only compute
	Time time.Duration
	Pin  bool

	Begin     time.Time
	Shared    string // the file with the state
	Addresses map[string]string
}

// An outcome is the result of one trial. Times are in milliseconds. They are the medians of all
// bursts.
type outcome struct {
	Way          string
	Busy         int
	Moves, Wrong int
	Bursts, Met  int     // bursts for which the site got the servers that it needs
	First, All   float64 // from a burst until the first of these servers was moved, and all of them
	Lost         float64 // share of the offered work
	Seconds      float64
}

func trials(o *harness.Options, _ uint64) (trials []trial) {
	t := trial{Time: o.Time, Pin: o.Pin}
	for _, t.Busy = range levels {
		for _, t.Way = range ways {
			trials = append(trials, t)
		}
	}
	return trials
}

// judge replays the moves. A move is wrong if the site does not have the burst, or already has all
// servers that the burst needs.
func judge(t trial, moves []move) outcome {
	slices.SortFunc(moves, func(a, b move) int { return a.at.Compare(b.at) })
	m, o := newModel(t.Begin), outcome{Moves: len(moves), Bursts: int(t.Time / period)}
	first, all := make([]float64, o.Bursts), make([]float64, o.Bursts)
	for _, mv := range moves {
		m.move(mv.server, mv.site, mv.at)
		burst := int(mv.at.Sub(t.Begin) / period)
		if n := m.count(mv.site); mv.site != hot(t.Begin, mv.at) || n > many {
			o.Wrong++
		} else if spent := mv.at.Sub(t.Begin) % period; burst < o.Bursts {
			first[burst] = cmp.Or(first[burst], spent.Seconds()*1e3)
			if n == many {
				all[burst] = cmp.Or(all[burst], spent.Seconds()*1e3)
			}
		}
	}
	m.run(t.Begin.Add(t.Time))
	_, o.First, _ = harness.Spread(slices.DeleteFunc(first, func(v float64) bool { return v == 0 }))
	met := slices.DeleteFunc(all, func(v float64) bool { return v == 0 })
	_, o.All, _ = harness.Spread(met)
	o.Met, o.Lost, o.Seconds = len(met), m.lost/m.offered, t.Time.Seconds()
	return o
}

// The CPUs of a trial that pins its processes.
const (
	balancersCPU = 0
	serversCPU   = 1
)

// The parts.
const (
	partNodes     = "nodes"
	partProgram   = "program"
	partBalancers = "balancers"
)

var parts = map[string]harness.Part{
	partNodes: harness.PartOf(serveNodes), partProgram: harness.PartOf(serveProgram), partBalancers: harness.PartOf(runBalancers),
}

// ahead is the time in which processes start and connect, before the first burst.
const ahead = 400 * time.Millisecond

// Run runs a trial. All its processes have ended when it returns.
func (t trial) Run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Time+time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(harness.SharedDir(), "study-reconfiguration-")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	t.Shared, t.Begin = filepath.Join(dir, "state"), time.Now().Add(ahead)
	if err := os.WriteFile(t.Shared, first(), 0o600); err != nil {
		return o, err
	}
	var group harness.Group
	cpu := harness.CPUOf(t.Pin, serversCPU)
	beside, err := group.Start(ctx, cpu, partNodes, t, 1)
	var program []string
	if err == nil {
		program, err = group.Start(ctx, cpu, partProgram, t, 2)
	}
	if err == nil {
		t.Addresses = map[string]string{wayTCP: program[0], wayRead: program[1], wayBeside: beside[0], wayFree: beside[0]}
		_, err = harness.Outcome(ctx, harness.CPUOf(t.Pin, balancersCPU), partBalancers, t, &o)
	}
	_, stopped := group.Stop()
	if err = errors.Join(err, stopped); err != nil {
		return o, fmt.Errorf("%s, %d busy: %w", t.Way, t.Busy, err)
	}
	o.Way, o.Busy = t.Way, t.Busy
	return o, nil
}
