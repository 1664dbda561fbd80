package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// The ways in which a proxy learns whether its page is current.
const (
	wayNone      = "none"      // no cache
	wayTCP       = "tcp"       // a request over TCP
	wayStream    = "stream"    // a request over an extended socket's byte stream
	wayRead      = "read"      // an RDMA Read, served in the back end's process
	wayDevice    = "device"    // an RDMA Read, served by the device of rddp run on the back end's CPU
	wayUnchecked = "unchecked" // it does not learn it
)

var ways = []string{wayNone, wayTCP, wayStream, wayRead, wayDevice, wayUnchecked}

// A trial is one contender under one load.
type trial struct {
	Way     string
	Updates float64 // the share of operations that are updates
	Busy    int     // goroutines of the back end that only compute

	Pages, Work      int           // number of pages; hashes for each block of a page
	Proxies, Clients int           // clients of each proxy
	Warm, Time       time.Duration // before the measurement, and of it
	Count            int           // operations of each client, instead of times; 0: none
	Seed             uint64
	Pin              bool // back end and proxies have a CPU each

	Addresses addresses // of the back end
	Command   string    // rddp, which runs the back end of wayDevice
}

// addresses are where a back end listens.
type addresses struct{ Plain, Extended string }

// An outcome is the result of one trial in the measured time. P50 and P99 are percentiles of the
// time of a request, in microseconds.
type outcome struct {
	Way                            string
	UpdateShare                    float64
	Busy                           int
	Requests, Updates, Hits, Stale int
	Seconds, P50, P99              float64
	BackendCPU, ProxyCPU           float64 // seconds, of the whole trial
}

// rate returns the responses per second.
func (o *outcome) rate() float64 { return float64(o.Requests) / o.Seconds }

// The CPUs of a trial that pins its processes.
const (
	proxyCPU   = 0
	backendCPU = 1
)

// The parts.
const (
	partBackend = "backend"
	partProxies = "proxies"
)

var parts = map[string]harness.Part{partBackend: harness.PartOf(serveBackend), partProxies: harness.PartOf(runProxies)}

// startBackend starts the back end, and the device that it needs.
func (t *trial) startBackend(ctx context.Context) (*harness.Process, error) {
	var under []string
	if t.Way == wayDevice {
		under = []string{t.Command, "run", "--iwarp"}
	}
	return harness.StartUnder(ctx, under, harness.CPUOf(t.Pin, backendCPU), partBackend, t)
}

// errStale means that a contender that validates has served a stale page.
var errStale = errors.New("a stale page was served")

// Run runs a trial. All its processes have ended when it returns.
func (t trial) Run(ctx context.Context) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Warm+t.Time+time.Minute)
	defer cancel()
	cpu, err := t.serveBackend(ctx, func() error { o, err = t.runProxies(ctx); return err })
	if err != nil {
		return o, fmt.Errorf("%s, updates %v, %d busy: %w", t.Way, t.Updates, t.Busy, err)
	}
	o.Way, o.UpdateShare, o.Busy, o.BackendCPU = t.Way, t.Updates, t.Busy, cpu.Seconds()
	if o.Stale > 0 && t.Way != wayUnchecked {
		return o, fmt.Errorf("%w: %d of %d by %s", errStale, o.Stale, o.Requests, t.Way)
	}
	return o, nil
}

// serveBackend starts the back end, and calls do. It returns the processor time of the processes
// that it started.
func (t *trial) serveBackend(ctx context.Context, do func() error) (cpu time.Duration, err error) {
	b, err := t.startBackend(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, b.Stop())
		cpu = b.CPU()
	}()
	if t.Addresses.Plain, err = b.Line(); err != nil {
		return 0, err
	}
	if t.Addresses.Extended, err = b.Line(); err != nil {
		return 0, err
	}
	return 0, do()
}

// runProxies runs the process of the proxies to its end.
func (t *trial) runProxies(ctx context.Context) (o outcome, err error) {
	cpu, err := harness.Outcome(ctx, harness.CPUOf(t.Pin, proxyCPU), partProxies, t, &o)
	o.ProxyCPU = cpu.Seconds()
	return o, err
}
