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

const name = "memory"

// run runs the measurements that the arguments select. It writes the figures to the document, or to
// out.
func run(ctx context.Context, args []string, out, log io.Writer) (err error) {
	o, parsed := harness.Parse(name, args, log, func(f *flag.FlagSet) { _ = f.Set("time", "100ms") })
	var t *tracer
	if parsed == nil && o.Rounds > 0 {
		if !o.Pin {
			return errors.New("the sides cannot be told apart: each needs a CPU")
		}
		if t, err = newTracer(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.close()) }()
	}
	s := harness.Study[trial, outcome]{Name: name, Figures: figures, Trials: func(o *harness.Options, _ uint64) []trial { return trials(o, t) }}
	return s.Measure(ctx, &o, parsed, out)
}

// A trial is one transfer.
type trial struct {
	Way     string
	Size    int // of a block, in bytes
	Time    time.Duration
	Count   int // blocks, instead; 0: none
	Pin     bool
	Address string  // of the source
	tracer  *tracer // nil: nothing is counted
}

// An outcome contains the bytes that one transfer has moved in each side's kernel and program.
type outcome struct {
	Way          string
	Size, Bytes  int
	Source, Sink side
}

// A side is one of the two processes.
type side struct {
	Kernel int // copied to or from sockets
	Copy   int // copied in the program
	CRC    int // read for a CRC, and not copied
}

var (
	ways  = []string{wayTCP, wayStream, wayPlaced, wayWrite, wayRead}
	sizes = []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
)

func trials(o *harness.Options, tracer *tracer) (trials []trial) {
	t := trial{Time: o.Time, Pin: o.Pin, tracer: tracer}
	for _, t.Size = range sizes {
		for _, t.Way = range ways {
			trials = append(trials, t)
		}
	}
	return trials
}

// The CPUs of a trial that pins its processes.
const (
	sourceCPU = 0
	sinkCPU   = 1
)

// The parts.
const (
	partSource = "source"
	partSink   = "sink"
)

var parts = map[string]harness.Part{partSource: harness.PartOf(serveSource), partSink: harness.PartOf(runSink)}

// Run runs a trial. All its processes have ended when it returns.
func (t trial) Run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Time+time.Minute)
	defer cancel()
	if t.tracer != nil {
		if err := t.tracer.begin(); err != nil {
			return o, err
		}
	}
	var group harness.Group
	address, err := group.Start(ctx, harness.CPUOf(t.Pin, sourceCPU), partSource, t, 1)
	if err == nil {
		t.Address = address[0]
		_, err = harness.Outcome(ctx, harness.CPUOf(t.Pin, sinkCPU), partSink, t, &o)
	}
	_, stopped := group.Stop()
	if err = errors.Join(err, stopped); err != nil {
		return o, fmt.Errorf("%s, blocks of %d: %w", t.Way, t.Size, err)
	}
	o.Way, o.Size = t.Way, t.Size
	if t.tracer == nil {
		return o, nil
	}
	sum, err := t.tracer.end()
	o.Source, o.Sink = sum.side(sourceCPU), sum.side(sinkCPU)
	return o, err
}

func (c counts) side(cpu int) side {
	return side{Kernel: c[place{cpu, eventSend}] + c[place{cpu, eventRecv}], Copy: c[place{cpu, eventCopy}], CRC: c[place{cpu, eventCRC}]}
}
