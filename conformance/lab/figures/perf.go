package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The kinds of the objects of rddp perf, besides kindResult.
const (
	kindSettings  = "settings"
	kindIdle      = "idle"
	kindBreakdown = "breakdown"
)

// A measured is the output of rddp perf. The documentation of the command's package perf explains
// the values.
type measured struct {
	settings   settings
	results    []result
	idles      []idle
	breakdowns []breakdown
}

type settings struct {
	Date       time.Time
	System     string
	Machine    string
	CPUs       int
	Servers    []string
	Load       string
	Conns      []int
	Rounds     int
	Time       time.Duration `json:"time_ns"`
	Congestion string
	Buffer     int
	ReadData   bool `json:"read_data"`
	OneCPU     bool `json:"one_cpu"`
	CPU        int
}

type result struct {
	Op, CRC, Post      string
	Size, Depth, Conns int
	Reference          string
	BytesPerS          float64       `json:"bytes_per_s"`
	MsgsPerS           float64       `json:"msgs_per_s"`
	MsgsSpread         []float64     `json:"msgs_per_s_spread"`
	RatioToTCP         float64       `json:"ratio_to_tcp"`
	RatioSpread        []float64     `json:"ratio_spread"`
	Lat                *latency      `json:"lat_us"`
	CPUPerGB           float64       `json:"cpu_s_per_gb"`
	CPUPerOp           float64       `json:"cpu_us_per_msg"`
	CPURatioToTCP      float64       `json:"cpu_ratio_to_tcp"`
	CPURatioSpread     []float64     `json:"cpu_ratio_spread"`
	Pause              time.Duration `json:"pause_ns"`
}

type latency struct{ P50, P90, P99, Max float64 }

type idle struct {
	Conns       int
	Over, CRC   string
	OpenUS      float64   `json:"open_us"`
	OpenRatio   float64   `json:"open_ratio_to_tcp"`
	OpenSpread  []float64 `json:"open_ratio_spread"`
	Here        *memory   `json:"memory_here"`
	There       *memory   `json:"memory_there"`
	HereBeyond  *memory   `json:"memory_here_beyond_tcp"`
	ThereBeyond *memory   `json:"memory_there_beyond_tcp"`
}

type memory struct{ Resident, Heap, Stack float64 }

type breakdown struct {
	Op        string `json:"breakdown"`
	Size      int
	CRC       string
	Steps     []step
	SumNS     float64 `json:"sum_ns"`
	TCPNS     float64 `json:"tcp_ns"`
	SocketsNS float64 `json:"sockets_ns"`
	WholeOp   string  `json:"whole_op"`
	WholeCPU  float64 `json:"whole_cpu_ns"`
	TCPCPU    float64 `json:"tcp_cpu_ns"`
	WholeTime float64 `json:"whole_ns"`
	TCPTime   float64 `json:"tcp_whole_ns"`
}

type step struct {
	Layer, Side, What string
	NS                float64
}

func (m *measured) add(kind string, line []byte) (known bool, err error) {
	switch kind {
	case kindSettings:
		return true, json.Unmarshal(line, &m.settings)
	case kindResult:
		return decode(&m.results, line)
	case kindIdle:
		return decode(&m.idles, line)
	case kindBreakdown:
		return decode(&m.breakdowns, line)
	}
	return false, nil
}

// isTCP reports whether the result is for plain TCP.
func (r *result) isTCP() bool { return r.Reference == "" }

// name returns the common name of the results of one operation and its parameters over all sizes.
func (r *result) name() string {
	parts := []string{r.Op}
	if r.Post != "" {
		parts = append(parts, fmt.Sprintf("×%d", r.Depth))
		if r.Depth > 1 {
			parts = append(parts, r.Post)
		}
	}
	if r.CRC == "off" {
		parts = append(parts, "no CRC")
	}
	if r.Pause > 0 {
		parts = append(parts, "after "+r.Pause.String())
	}
	return strings.Join(parts, " ")
}

func (s *settings) summary() string {
	parts := []string{fmt.Sprintf("%s, %s, %d CPUs", s.Date.Format(time.RFC3339), s.System, s.CPUs)}
	if s.Machine != "" {
		parts[0] += " (" + s.Machine + ")"
	}
	parts = append(parts, fmt.Sprintf("load %s; medians of %d rounds of %v", s.Load, s.Rounds, s.Time))
	control := "congestion control of the system"
	if s.Congestion != "" {
		control = "congestion control " + s.Congestion
	}
	parts = append(parts, control)
	if s.Buffer > 0 {
		parts = append(parts, fmt.Sprintf("buffers of %d bytes", s.Buffer))
	}
	if s.ReadData {
		parts = append(parts, "the data are read")
	}
	if s.OneCPU {
		parts = append(parts, fmt.Sprintf("pinned to CPU %d", s.CPU))
	}
	return strings.Join(parts, "; ") + ". Servers: " + strings.Join(s.Servers, ", ") + "."
}

// page returns a page with the tables of all values.
func (m *measured) page() *page {
	p := &page{Title: "rddp next to plain TCP", Texts: []string{m.settings.summary(),
		"Each figure is the median of the rounds, over all connections together. “x TCP” is the rate divided by that of plain TCP in the " +
			"same round: more than 1 is faster than plain TCP. One-way operations compare with TCP's throughput, answered ones with request " +
			"and answer over TCP. Latencies are from the call to the peer's answer; an echo's is a whole round trip. Processor time is user " +
			"and system time of the processes of both ends. Bars go from the lowest to the highest round."}}
	if len(m.results) > 0 {
		p.Tables = append(p.Tables, m.resultTable())
	}
	if len(m.idles) > 0 {
		p.Tables = append(p.Tables, m.idleTable())
	}
	for i := range m.breakdowns {
		p.Tables = append(p.Tables, m.breakdowns[i].table())
	}
	return p
}

func (m *measured) resultTable() table {
	t := table{Title: "Results", Columns: []string{
		"op", "conns", "size", "depth", "post", "pause", "CRC", "MB/s", "k msgs/s", "x TCP", "spread", "p50 µs", "p90", "p99", "max", "CPU µs/msg", "x TCP's CPU", "spread",
	}}
	for _, r := range m.results {
		var lat latency
		if r.Lat != nil {
			lat = *r.Lat
		}
		pause := "-"
		if r.Pause > 0 {
			pause = r.Pause.String()
		}
		t.Rows = append(t.Rows, row{Cells: []string{
			r.Op, fmt.Sprint(r.Conns), fmt.Sprint(r.Size), fmt.Sprint(r.Depth), text(r.Post), pause, text(r.CRC), cell("%.1f", r.BytesPerS/1e6),
			cell("%.1f", r.MsgsPerS/1e3), cell("%.2f", r.RatioToTCP), span(r.RatioSpread), cell("%.1f", lat.P50), cell("%.1f", lat.P90),
			cell("%.1f", lat.P99), cell("%.0f", lat.Max), cell("%.2f", r.CPUPerOp), cell("%.2f", r.CPURatioToTCP), span(r.CPURatioSpread),
		}})
	}
	return t
}

func (m *measured) idleTable() table {
	t := table{
		Title: "Opening connections, and the memory of idle ones",
		Text: "Connections are opened one after another. “x TCP's time” is the time divided by plain TCP's in the same round: more than 1 is " +
			"slower. Memory is that of one idle connection, in units of 1000 bytes, with the memory that its data walks through.",
		Columns: []string{"over", "conns", "CRC", "open µs", "x TCP's time", "spread", "here: RAM", "heap and stack", "there: RAM", "heap and stack",
			"beyond TCP here: RAM", "heap and stack", "there: RAM", "heap and stack"},
	}
	for _, v := range m.idles {
		cells := []string{v.Over, fmt.Sprint(v.Conns), text(v.CRC), cell("%.1f", v.OpenUS), cell("%.2f", v.OpenRatio), span(v.OpenSpread)}
		for _, mem := range []*memory{v.Here, v.There, v.HereBeyond, v.ThereBeyond} {
			if mem == nil {
				cells = append(cells, "-", "-")
			} else {
				cells = append(cells, fmt.Sprintf("%.1f", mem.Resident/1e3), fmt.Sprintf("%.1f", (mem.Heap+mem.Stack)/1e3))
			}
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return t
}

// table shows where the time of a message goes. The last rows are for comparison with the steps.
func (b *breakdown) table() table {
	t := table{
		Title: fmt.Sprintf("Where the time of a message goes: %s of %d bytes, CRC %s", b.Op, b.Size, b.CRC),
		Text: "One goroutine drives the layers of both ends by hand over a loopback connection. Each figure is the median of all operations, in " +
			"nanoseconds of one operation.",
		Columns: []string{"layer", "end", "step", "ns"},
	}
	lines := append(slices.Clone(b.Steps), step{"all", "both", "the steps together", b.SumNS}, step{"tcp", "both", "plain TCP alone, driven in the same way", b.TCPNS})
	if b.SocketsNS > 0 {
		lines = append(lines, step{"extsock", "both", "Write and Read of two extended sockets in one goroutine", b.SocketsNS})
	}
	if b.WholeCPU > 0 && b.TCPCPU > 0 {
		rest := b.TCPCPU - b.TCPNS // negative if TCP handles several operations at once
		lines = append(lines,
			step{"whole", "both", "processor time of the whole stack (" + b.WholeOp + ")", b.WholeCPU},
			step{"tcp", "both", "processor time of plain TCP", b.TCPCPU},
			step{"tcp", "both", "of which not TCP's steps: scheduler, poller, wake-ups", rest},
			step{"whole", "both", "driver and further wake-ups: neither a step nor plain TCP's", b.WholeCPU - b.SumNS - rest},
			step{"whole", "both", "elapsed time of the whole stack (" + b.WholeOp + ")", b.WholeTime},
			step{"tcp", "both", "elapsed time of plain TCP", b.TCPTime})
	}
	longest := slices.MaxFunc(lines, func(a, b step) int { return int(a.NS - b.NS) }).NS
	for _, s := range lines {
		t.Rows = append(t.Rows, row{[]string{s.Layer, s.Side, s.What, fmt.Sprintf("%.0f", s.NS)}, 100 * max(s.NS, 0) / max(longest, 1)})
	}
	return t
}

// cell prints a value. 0 means none.
func cell(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func text(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func span(ends []float64) string {
	if len(ends) != 2 {
		return "-"
	}
	return fmt.Sprintf("%.2f–%.2f", ends[0], ends[1])
}
