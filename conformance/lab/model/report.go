package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rddp/rddp/conformance/lab/pipeline"
)

// A Report is the result of Run.
type Report struct {
	Links   []pipeline.Params
	Results []Result // by link, by size, and by pipelining
}

// A Result contains the values of the model and the simulation for one link, one size and one
// pipelining.
type Result struct {
	Link       string `json:"link"`
	Size       int    `json:"size"`       // bytes of a message
	Pipelining string `json:"pipelining"` // "coarse" or "fine"

	LatencyUS    float64 `json:"latency_us"` // of the model, from posting a message until the peer's program knows of it
	SimLatencyUS float64 `json:"sim_latency_us"`
	BytesPerS    float64 `json:"bytes_per_s"` // of the model, for an endless stream of messages
	SimBytesPerS float64 `json:"sim_bytes_per_s"`
	OfLink       float64 `json:"of_link"`    // BytesPerS divided by the rate of the link
	Bottleneck   string  `json:"bottleneck"` // what limits BytesPerS
	// Threshold is the number of bytes of a message's longest packet that must have arrived in the
	// engine before the link begins to send it.
	Threshold int `json:"threshold"`
	// Difference is the larger of the differences in latency and bandwidth between model and
	// simulation, in percent of the simulation.
	Difference float64 `json:"difference_percent"`
}

// Run computes and simulates the results that o selects. Its errors are *OptionErrors, and that of
// ctx.
func Run(ctx context.Context, o Options) (*Report, error) {
	links, err := o.links()
	if err != nil {
		return nil, err
	}
	sizes, err := o.sizes()
	if err != nil {
		return nil, err
	}
	r := &Report{Links: links}
	for _, p := range links {
		for _, n := range sizes {
			for _, pipelining := range []pipeline.Pipelining{pipeline.Coarse, pipeline.Fine} {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				v, err := result(p, pipelining, n)
				if err != nil {
					return nil, err
				}
				r.Results = append(r.Results, v)
			}
		}
	}
	return r, nil
}

// result computes one Result with the model and the simulation.
func result(p pipeline.Params, pipelining pipeline.Pipelining, n int) (Result, error) {
	m, err := pipeline.NewModel(p, pipelining)
	if err != nil {
		return Result{}, err
	}
	latency, err := pipeline.MeasureLatency(p, pipelining, n)
	if err != nil {
		return Result{}, err
	}
	bandwidth, err := pipeline.MeasureBandwidth(p, pipelining, n)
	if err != nil {
		return Result{}, err
	}
	v := Result{
		Link: p.Name, Size: n, Pipelining: pipelining.String(), Bottleneck: m.Bottleneck(n),
		LatencyUS: m.Latency(n).Microseconds(), SimLatencyUS: latency.Microseconds(),
		BytesPerS: m.Bandwidth(n), SimBytesPerS: bandwidth,
	}
	v.OfLink = v.BytesPerS * float64(p.Link.PerByte) / float64(pipeline.Second)
	switch packet := min(n, p.MaxPacket); {
	case pipelining == pipeline.Coarse:
		v.Threshold = packet
	case p.Gapless:
		v.Threshold = p.MinThreshold(packet)
	default:
		v.Threshold = min(packet, p.Fragment)
	}
	v.Difference = 100 * max(math.Abs(v.LatencyUS/v.SimLatencyUS-1), math.Abs(v.BytesPerS/v.SimBytesPerS-1))
	return v, nil
}

// Worst returns the largest Difference.
func (r *Report) Worst() (worst float64) {
	for _, v := range r.Results {
		worst = max(worst, v.Difference)
	}
	return worst
}

// parameters is the JSON object of pipeline.Params. Times are in picoseconds.
type parameters struct {
	Kind             string        `json:"kind"`
	Link             string        `json:"link"`
	MaxPacket        int           `json:"max_packet"`
	Fragment         int           `json:"fragment"`
	Gapless          bool          `json:"gapless"`
	SharedDMA        bool          `json:"shared_dma"`
	ReadHost         stageObject   `json:"read_host"`
	WriteHost        stageObject   `json:"write_host"`
	Engine           stageObject   `json:"engine"`
	Wire             stageObject   `json:"wire"`
	Post             pipeline.Time `json:"post_ps"`
	Notify           pipeline.Time `json:"notify_ps"`
	Refill           pipeline.Time `json:"refill_ps"`
	SeparateChecksum bool          `json:"separate_checksum"`
	Checksum         pipeline.Time `json:"checksum_ps_per_byte"`
	HostQueue        int           `json:"host_queue"`
	EngineQueue      int           `json:"engine_queue"`
}

type stageObject struct {
	PerPacket pipeline.Time `json:"packet_ps"`
	PerByte   pipeline.Time `json:"byte_ps"`
	Delay     pipeline.Time `json:"delay_ps"`
}

func parametersOf(p pipeline.Params) parameters {
	return parameters{
		Kind: "parameters", Link: p.Name, MaxPacket: p.MaxPacket, Fragment: p.Fragment, Gapless: p.Gapless, SharedDMA: p.SharedDMA,
		ReadHost: stageObject(p.ReadHost), WriteHost: stageObject(p.WriteHost), Engine: stageObject(p.Engine), Wire: stageObject(p.Link),
		Post: p.Post, Notify: p.Notify, Refill: p.Refill, SeparateChecksum: p.SeparateChecksum, Checksum: p.Checksum,
		HostQueue: p.HostQueue, EngineQueue: p.EngineQueue,
	}
}

// WriteJSON writes one JSON object per line: the parameters of each link, and then each Result. The
// field "kind" says which it is.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, p := range r.Links {
		if err := enc.Encode(parametersOf(p)); err != nil {
			return err
		}
	}
	for _, v := range r.Results {
		if err := enc.Encode(struct {
			Kind string `json:"kind"`
			Result
		}{"result", v}); err != nil {
			return err
		}
	}
	return nil
}

// columns are the columns of a link's table. A row has both pipelinings of one size.
var columns = []string{"size", "coarse µs", "fine µs", "saved", "coarse Gb/s", "fine Gb/s", "of the link", "limit", "threshold", "simulation"}

// WriteText writes a table for each link.
func (r *Report) WriteText(w io.Writer) error {
	for i, p := range r.Links {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, summary(p))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, strings.Join(columns, "\t")+"\t")
		for _, row := range r.rows(p.Name) {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.legend())
	return err
}

// legend explains the tables.
func (r *Report) legend() string {
	return fmt.Sprintf("Latency is from the post to the peer's program, bandwidth that of a long stream in one direction; both are the model's.\n"+
		"saved: what fine-grained pipelining saves of the latency. limit: the stage that limits the bandwidth of fine-grained pipelining.\n"+
		"threshold: bytes of a packet that the link waits for with fine-grained pipelining. simulation: its largest difference from the\n"+
		"model; %.3f %% in all tables.", r.Worst())
}

// summary describes the parameters of a link in one line.
func summary(p pipeline.Params) string {
	checksum := "in the DMA"
	if p.SeparateChecksum {
		checksum = fmt.Sprintf("%d ps/B apart", p.Checksum)
	}
	frame := "a packet may pause"
	if p.Gapless {
		frame = "a packet must not pause"
	}
	return fmt.Sprintf("%s: bus %.1f Gb/s, link %.1f Gb/s (%s), packets of %s, fragments of %s, checksum %s", p.Name,
		gigabits(p.ReadHost.PerByte), gigabits(p.Link.PerByte), frame, sizeText(p.MaxPacket), sizeText(p.Fragment), checksum)
}

// gigabits returns the rate in Gb/s at which a byte takes t.
func gigabits(t pipeline.Time) float64 { return 8 * float64(pipeline.Nanosecond) / float64(t) }

// rows returns the cells of a link's table.
func (r *Report) rows(link string) (rows [][]string) {
	for pair := range slices.Chunk(r.Results, 2) { // coarse and fine
		coarse, fine := pair[0], pair[1]
		if coarse.Link != link {
			continue
		}
		rows = append(rows, []string{
			sizeText(fine.Size), fmt.Sprintf("%.3f", coarse.LatencyUS), fmt.Sprintf("%.3f", fine.LatencyUS),
			fmt.Sprintf("%.0f %%", 100*(1-fine.LatencyUS/coarse.LatencyUS)),
			fmt.Sprintf("%.3f", coarse.BytesPerS*8e-9), fmt.Sprintf("%.3f", fine.BytesPerS*8e-9), fmt.Sprintf("%.0f %%", 100*fine.OfLink),
			fine.Bottleneck, sizeText(fine.Threshold), fmt.Sprintf("%.3f %%", max(coarse.Difference, fine.Difference)),
		})
	}
	return rows
}
