package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// A trial is one stream of blocks.
type trial struct {
	Way    string
	Demand bool // demand-driven, otherwise round-robin
	Copies int
	Window int     // blocks on their way through each copy
	Size   int     // of a block with its header, in bytes
	Cost   float64 // of the filter, in ns for each byte
	Uneven float64 // factor by which the first copy is slower than the others

	Time  time.Duration // for which the source sends
	Count int           // blocks to send, instead; 0: none
	Seed  uint64
	Pin   bool // source and sink have a CPU, and the copies have another

	Addresses []string // of the copies
	Slow      float64  // the factor of this copy
}

// An outcome is the result of one trial. P50 and P99 are percentiles of the time of a block from
// the source to the sink, in microseconds.
type outcome struct {
	Way                        string
	Demand                     bool
	Copies, Window, Size       int
	Cost, Uneven               float64
	Blocks                     []int // by copy
	Seconds, P50, P99, EndsCPU float64
	CopiesCPU                  float64
}

// The CPUs of a trial that pins its processes.
const (
	endsCPU   = 0
	copiesCPU = 1
)

// The parts.
const (
	partCopy = "copy"
	partEnds = "ends"
)

var parts = map[string]harness.Part{partCopy: harness.PartOf(serveCopy), partEnds: harness.PartOf(runEnds)}

func (t *trial) start(ctx context.Context, part string, cpu int) (*harness.Process, error) {
	if !t.Pin {
		cpu = harness.NotPinned
	}
	return harness.Start(ctx, cpu, part, t)
}

// Run runs a trial. All its processes have ended when it returns.
func (t trial) Run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Time+time.Minute)
	defer cancel()
	cpu, err := t.serveCopies(ctx, func() error { o, err = t.runEnds(ctx); return err })
	if err != nil {
		return o, fmt.Errorf("%s, blocks of %d: %w", t.Way, t.Size, err)
	}
	o.Way, o.Demand, o.Copies, o.Window, o.Size, o.Cost, o.Uneven = t.Way, t.Demand, t.Copies, t.Window, t.Size, t.Cost, t.Uneven
	o.CopiesCPU = cpu.Seconds()
	return o, nil
}

// serveCopies starts the copies of the filter, and calls do. It returns the copies' processor time.
func (t *trial) serveCopies(ctx context.Context, do func() error) (cpu time.Duration, err error) {
	for i := range t.Copies {
		t.Slow = 1
		if i == 0 {
			t.Slow = t.Uneven
		}
		var p *harness.Process
		if p, err = t.start(ctx, partCopy, copiesCPU); err != nil {
			return 0, err
		}
		defer func() {
			err = errors.Join(err, p.Stop())
			cpu += p.CPU()
		}()
		var address string
		if address, err = p.Line(); err != nil {
			return 0, err
		}
		t.Addresses = append(t.Addresses, address)
	}
	return 0, do()
}

// runEnds runs the process of source and sink to its end.
func (t *trial) runEnds(ctx context.Context) (o outcome, err error) {
	p, err := t.start(ctx, partEnds, endsCPU)
	if err != nil {
		return o, err
	}
	err = p.Report(&o)
	o.EndsCPU = p.CPU().Seconds()
	return o, err
}
