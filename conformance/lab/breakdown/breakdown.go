package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// A Breakdown shows where the time of a message goes, step by step. One goroutine drives the layers
// of both ends by hand, as the driver of package extsock does, over one connection of the loopback
// interface. No step waits for another goroutine. So the steps are the work for one message. The
// rest of the time is that of the driver, the scheduler and wake-ups.
type Breakdown struct {
	Op    string  `json:"breakdown"` // write, read or send
	Size  int     `json:"size"`
	CRC   string  `json:"crc"`
	Steps []Step  `json:"steps"`
	Sum   float64 `json:"sum_ns"`     // of the steps
	TCP   float64 `json:"tcp_ns"`     // plain TCP driven in the same way: the same bytes written and read
	Count int     `json:"operations"` // number of measured operations
	// Sockets is the time of a Write and the Read of its message, by two extended sockets in one
	// goroutine. 0 for other operations than send.
	Sockets float64 `json:"sockets_ns,omitempty"`

	// The time of the whole stack for one operation, from the results of the same run: processor
	// time of both ends, and elapsed time. 0 if the run did not measure WholeOp.
	WholeOp   string  `json:"whole_op"`
	WholeCPU  float64 `json:"whole_cpu_ns,omitempty"`
	WholeTime float64 `json:"whole_ns,omitempty"`
	// The same times of plain TCP, the reference of WholeOp.
	TCPCPU  float64 `json:"tcp_cpu_ns,omitempty"`
	TCPTime float64 `json:"tcp_whole_ns,omitempty"`
}

// A Step is one step of a message on its way.
type Step struct {
	Layer string  `json:"layer"`
	Side  string  `json:"side"` // the end that takes the step: sender or receiver of the bytes
	What  string  `json:"what"`
	NS    float64 `json:"ns"` // of one operation: the median of all operations
}

// The steps, in the order in which a message takes them.
const (
	stepPost = iota
	stepMessage
	stepSegment
	stepFPDU
	stepWrite
	stepSent
	stepRead
	stepVerify
	stepPlace
	stepDeliver
	stepHandle
	stepComplete
	steps
)

const (
	sender   = "sender"
	receiver = "receiver"
)

var stepNames = [steps]Step{
	stepPost:     {Layer: "rdmap", Side: sender, What: "post the Work Request (and the receive buffer of a Send)"},
	stepMessage:  {Layer: "rdmap", Side: sender, What: "begin the next message"},
	stepSegment:  {Layer: "ddp", Side: sender, What: "cut the message into segments and write their headers"},
	stepFPDU:     {Layer: "mpa", Side: sender, What: "make FPDUs: length, CRC, and a copy of short payload"},
	stepWrite:    {Layer: "toe", Side: sender, What: "write to TCP"},
	stepSent:     {Layer: "rdmap", Side: sender, What: "complete what TCP has taken"},
	stepRead:     {Layer: "toe", Side: receiver, What: "read from TCP"},
	stepVerify:   {Layer: "mpa", Side: receiver, What: "find the FPDUs and verify the CRC"},
	stepPlace:    {Layer: "ddp", Side: receiver, What: "check the segment and place its payload"},
	stepDeliver:  {Layer: "ddp", Side: receiver, What: "deliver the message"},
	stepHandle:   {Layer: "rdmap", Side: receiver, What: "handle the message"},
	stepComplete: {Layer: "rdmap", Side: sender, What: "take the Completion"},
}

// A stopwatch measures the steps of one operation after the other. The clock belongs to this
// command: the layers have none.
type stopwatch struct {
	base  time.Time
	last  time.Duration
	spent [steps]time.Duration // in this operation
	laps  [steps]int           // in this operation
	cost  time.Duration        // of lap itself
	times [steps]*hdrhistogram.Histogram
}

func newStopwatch() *stopwatch {
	w := &stopwatch{cost: lapCost()}
	for i := range w.times {
		w.times[i] = newHistogram()
	}
	return w
}

// start begins an operation.
func (w *stopwatch) start() {
	w.spent, w.laps = [steps]time.Duration{}, [steps]int{}
	w.base, w.last = time.Now(), 0
}

// lap ends a step. The next one begins at once.
func (w *stopwatch) lap(step int) {
	now := time.Since(w.base)
	w.spent[step] += now - w.last
	w.laps[step]++
	w.last = now
}

// stop ends an operation and records its steps.
func (w *stopwatch) stop() {
	for i, d := range w.spent {
		d -= w.cost * time.Duration(w.laps[i])
		_ = w.times[i].RecordValue(int64(min(max(d, 0), time.Duration(maxLatency)))) // the value is in range
	}
}

// lapCost returns the time that lap itself takes: the least of several measurements, because a
// measurement that something interrupts is too long.
func lapCost() time.Duration {
	const tries, n = 50, 200
	var w stopwatch
	cost := time.Duration(maxLatency)
	for range tries {
		w.start()
		for range n {
			w.lap(0)
		}
		cost = min(cost, w.spent[0]/n)
	}
	return cost
}

// breakdowns measures a breakdown for each size, CRC and operation that a measurement has at depth
// 1.
func breakdowns(ctx context.Context, m *measurement) (all []Breakdown, err error) {
	for _, j := range m.jobs() {
		b, err := breakdown(ctx, &m.settings, j)
		if err != nil {
			return nil, fmt.Errorf("breakdown of %s of %d bytes: %w", j.op, j.size, err)
		}
		b.whole(m.results, j)
		all = append(all, b)
	}
	return all, nil
}

// breakdown measures one operation.
func breakdown(ctx context.Context, s *settings, j job) (b Breakdown, err error) {
	b = Breakdown{Op: j.op, Size: j.size, CRC: j.crc}
	p, err := newHandPair(ctx, s, j)
	if err != nil {
		return b, err
	}
	defer p.close()
	for range s.Rounds {
		for _, operate := range p.operations() {
			if err := p.round(ctx, s.Time, operate); err != nil {
				return b, err
			}
		}
	}
	b.Count = int(p.watch.times[0].TotalCount())
	for i, step := range stepNames {
		step.NS = float64(p.watch.times[i].ValueAtQuantile(50))
		b.Steps, b.Sum = append(b.Steps, step), b.Sum+step.NS
	}
	b.TCP = float64(p.plainTimes.ValueAtQuantile(50))
	if p.sockets != nil {
		b.Sockets = float64(p.sockets.times.ValueAtQuantile(50))
	}
	return b, nil
}

// whole enters the times of the whole stack and of plain TCP, if results contain them. A one-way
// message is half of an echo.
func (b *Breakdown) whole(results []result, j job) {
	half := 1.0
	if b.WholeOp = j.op; j.op == opSend {
		b.WholeOp, half = opMessage, 2
	}
	of := func(op, crc string) (found *result, cpu, elapsed float64) {
		for i := range results { // those of the fewest connections come first
			if r := &results[i]; r.Op == op && r.CRC == crc && r.Size == b.Size && r.Depth == 1 && r.MsgsPerS > 0 {
				return r, r.CPUPerOp * 1e3 / half, 1e9 * float64(r.Conns) / r.MsgsPerS / half
			}
		}
		return nil, 0, 0
	}
	var whole *result
	if whole, b.WholeCPU, b.WholeTime = of(b.WholeOp, b.CRC); whole != nil {
		_, b.TCPCPU, b.TCPTime = of(whole.Reference, "")
	}
}

// TCPRest returns the processor time that plain TCP takes beyond its own steps: wake-ups, the
// scheduler and the poller. It is negative if TCP handles several operations at once.
func (b *Breakdown) TCPRest() float64 { return b.TCPCPU - b.TCP }

// Rest returns the processor time of the whole stack that neither a step nor TCPRest explains. It
// is the time of the driver, and of wake-ups beyond plain TCP's. It is negative if the whole stack
// handles several operations at once.
func (b *Breakdown) Rest() float64 { return b.WholeCPU - b.Sum - b.TCPRest() }

// lines returns all lines of the breakdown: the steps, and the times for comparison.
func (b *Breakdown) lines() []Step {
	all := append(slices.Clone(b.Steps),
		Step{"all", "both", "the steps together", b.Sum}, Step{opTCP, "both", "plain TCP alone, driven in the same way", b.TCP})
	if b.Sockets > 0 {
		all = append(all, Step{"extsock", "both", "Write and Read of two extended sockets in one goroutine", b.Sockets})
	}
	if b.WholeCPU > 0 && b.TCPCPU > 0 {
		all = append(all,
			Step{"whole", "both", "processor time of the whole stack (" + b.WholeOp + ")", b.WholeCPU},
			Step{opTCP, "both", "processor time of plain TCP", b.TCPCPU},
			Step{opTCP, "both", "of which not TCP's steps: scheduler, poller, wake-ups", b.TCPRest()},
			Step{"whole", "both", "driver and further wake-ups: neither a step nor plain TCP's", b.Rest()},
			Step{"whole", "both", "elapsed time of the whole stack (" + b.WholeOp + ")", b.WholeTime},
			Step{opTCP, "both", "elapsed time of plain TCP", b.TCPTime})
	}
	return all
}

// layerColumns are the columns of the table of layers.
var layerColumns = []string{"op", "size", "CRC", "rdmap ns", "ddp ns", "mpa ns", "toe ns", "together", "TCP alone", "whole, CPU", "TCP, CPU"}

// layerRow returns the row of the breakdown in the table of layers: the time of all steps of each
// layer, at both ends.
func (b *Breakdown) layerRow() []string {
	layers := make(map[string]float64)
	for _, s := range b.Steps {
		layers[s.Layer] += s.NS
	}
	row := []string{b.Op, plot.Size(float64(b.Size)), b.CRC}
	for _, ns := range []float64{layers["rdmap"], layers["ddp"], layers["mpa"], layers["toe"], b.Sum, b.TCP, b.WholeCPU, b.TCPCPU} {
		cell := "-"
		if ns > 0 {
			cell = fmt.Sprintf("%.0f", ns)
		}
		row = append(row, cell)
	}
	return row
}

// writeLayers writes the table of layers.
func writeLayers(w io.Writer, all []Breakdown) error {
	fmt.Fprintln(w, "breakdown by layers; nanoseconds of one operation, both ends together")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(layerColumns, "\t")+"\t")
	for i := range all {
		fmt.Fprintln(t, strings.Join(all[i].layerRow(), "\t")+"\t")
	}
	return t.Flush()
}

func (b *Breakdown) writeText(w io.Writer) error {
	fmt.Fprintf(w, "\nbreakdown: %s of %d bytes, CRC %s; nanoseconds of one operation, both ends driven by hand in one goroutine\n", b.Op, b.Size, b.CRC)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range b.lines() {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%8.0f\t%6.1f %%\n", s.Layer, s.Side, s.What, s.NS, 100*s.NS/max(b.Sum, 1))
	}
	return t.Flush()
}
