package perf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is the outcome of Run.
type Report struct {
	Date       time.Time     `json:"date"`
	System     string        `json:"system"`            // operating system, architecture and Go version of this end
	Machine    string        `json:"machine,omitempty"` // model of this end's CPU, if the operating system tells
	CPUs       int           `json:"cpus"`              // number of CPUs that this end may use
	Servers    []string      `json:"servers"`
	Load       string        `json:"load"`
	Conns      []int         `json:"conns"`
	Rounds     int           `json:"rounds"`
	Time       time.Duration `json:"time_ns"`              // of one run
	Ring       int           `json:"ring"`                 // bytes of memory that the data walks through, at each end
	Congestion string        `json:"congestion,omitempty"` // the chosen one, or the default of this end's system
	Buffer     int           `json:"buffer,omitempty"`
	ReadData   bool          `json:"read_data,omitempty"`
	TLS        bool          `json:"tls,omitempty"`        // under all connections, including plain TCP
	HugePages  bool          `json:"huge_pages,omitempty"` // the heaps of all processes are in huge pages
	PollTime   time.Duration `json:"poll_time_ns,omitempty"`
	OneCPU     bool          `json:"one_cpu"`
	CPU        int           `json:"cpu"`                  // with OneCPU: the CPU to which this end was pinned
	Incomplete bool          `json:"incomplete,omitempty"` // Run has failed: each Result and Idle contains its number of rounds
	Repeated   int           `json:"repeated"`             // rounds that were repeated because the CPUs were far apart
	LineNS     float64       `json:"line_ns"`              // the shortest time of a cache line from one CPU to another; 0 if not measured
	Cold       []Cold        `json:"cold,omitempty"`       // with Options.Cold: the price of a page at this end

	Results []Result `json:"-"` // WriteJSON writes each as a separate object
	Idles   []Idle   `json:"-"` // with Options.Scale
}

// A Result contains the measurements of one job. Each figure is the median over the rounds, for all
// connections together. Percentiles are over all operations of all rounds.
type Result struct {
	Op        string        `json:"op"`
	CRC       string        `json:"crc,omitempty"` // "on" or "off"; "" for plain TCP
	Size      int           `json:"size"`          // bytes of one operation
	Depth     int           `json:"depth"`         // maximum outstanding Work Requests on each connection
	Post      string        `json:"post,omitempty"`
	Pause     time.Duration `json:"pause_ns,omitempty"` // before each operation
	Conns     int           `json:"conns"`
	Load      string        `json:"load"`
	Rounds    int           `json:"rounds"`
	ReadData  bool          `json:"read_data,omitempty"`
	Reference string        `json:"reference,omitempty"` // the operation over plain TCP that RatioToTCP compares with

	Seconds   float64 `json:"seconds"` // of one run
	BytesPerS float64 `json:"bytes_per_s"`
	MsgsPerS  float64 `json:"msgs_per_s"` // operations; an echo is one operation
	// MsgsSpread is the lowest and the highest rate of the rounds.
	MsgsSpread []float64 `json:"msgs_per_s_spread,omitempty"`
	// RatioToTCP is the rate divided by the rate of the reference in the same round. More than 1 is
	// faster than plain TCP. With pauses, it is the median latency of the reference divided by that
	// of this operation.
	RatioToTCP     float64   `json:"ratio_to_tcp,omitempty"`
	RatioSpread    []float64 `json:"ratio_spread,omitempty"`    // the lowest and the highest of the rounds
	RatioQuartiles []float64 `json:"ratio_quartiles,omitempty"` // the first and the third quartile of the rounds
	Lat            *Latency  `json:"lat_us,omitempty"`          // if each operation waits for an answer and the depth is 1

	// Processor time of all processes together, for each operation and for 10^9 bytes. CPUHere and
	// CPUThere are the parts of this process and of the servers: means over the rounds, because
	// the division between user and system needs long runs. All are absent if an operating system
	// cannot tell.
	CPUPerOp float64  `json:"cpu_us_per_msg,omitempty"`
	CPUPerGB float64  `json:"cpu_s_per_gb,omitempty"`
	CPUHere  *CPUTime `json:"cpu_us_here,omitempty"`
	CPUThere *CPUTime `json:"cpu_us_there,omitempty"`
	// CPURatioToTCP is CPUPerOp divided by that of the reference in the same round. Less than 1 is
	// cheaper than plain TCP. Other work on the machine changes it much less than RatioToTCP.
	CPURatioToTCP     float64   `json:"cpu_ratio_to_tcp,omitempty"`
	CPURatioSpread    []float64 `json:"cpu_ratio_spread,omitempty"`    // the lowest and the highest of the rounds
	CPURatioQuartiles []float64 `json:"cpu_ratio_quartiles,omitempty"` // the first and the third quartile of the rounds
}

func newReport(o *Options) *Report {
	return &Report{
		Date: time.Now().Round(time.Second), System: runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(), Machine: machine(),
		CPUs: runtime.NumCPU(), Servers: o.Addresses, Load: o.Load, Conns: o.Conns, Rounds: o.Rounds, Time: o.Time, Ring: o.Ring,
		Congestion: cmp.Or(o.Congestion, systemCongestion()), Buffer: o.Buffer, OneCPU: o.OneCPU, ReadData: o.ReadData, TLS: o.TLS != nil, HugePages: o.HugePages, PollTime: o.PollTime,
	}
}

// The kinds of the JSON objects. Each object has its kind in the field "kind".
const (
	KindSettings = "settings" // the Report: date, machine and options; always the first object
	KindResult   = "result"   // a Result
	KindIdle     = "idle"     // an Idle
)

// WriteJSON writes one JSON object per line: the settings, then each Result, and each Idle.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	err := enc.Encode(struct {
		Kind string `json:"kind"`
		*Report
	}{KindSettings, r})
	for i := 0; i < len(r.Results) && err == nil; i++ {
		err = enc.Encode(struct {
			Kind string `json:"kind"`
			*Result
		}{KindResult, &r.Results[i]})
	}
	for i := 0; i < len(r.Idles) && err == nil; i++ {
		err = enc.Encode(struct {
			Kind string `json:"kind"`
			*Idle
		}{KindIdle, &r.Idles[i]})
	}
	return err
}

// WriteText writes a table.
func (r *Report) WriteText(w io.Writer) error {
	if len(r.Results) > 0 {
		fmt.Fprintln(w, r.summary())
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		writeRow(t, columns)
		for i := range r.Results {
			writeRow(t, r.Results[i].row())
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if r.Cold != nil {
		fmt.Fprintln(w, coldText(r.Cold))
	}
	if len(r.Idles) > 0 {
		if err := writeIdles(w, r.Idles); err != nil {
			return err
		}
	}
	return nil
}

// writeRow writes cells as a line of a table.
func writeRow(t *tabwriter.Writer, cells []string) {
	fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
}

// summary describes the measurement in one line.
func (r *Report) summary() string {
	text := fmt.Sprintf("%s, %s, %d CPUs", r.Date.Format(time.RFC3339), r.System, r.CPUs)
	if r.Machine != "" {
		text += " (" + r.Machine + ")"
	}
	rounds := "one round"
	if r.Rounds != 1 {
		rounds = fmt.Sprintf("medians of %d rounds", r.Rounds)
	}
	text += fmt.Sprintf("; load %s; %s of %v", r.Load, rounds, r.Time)
	if r.Incomplete {
		text += " at most: the measurement is incomplete"
	}
	if r.Congestion != "" {
		text += "; " + r.Congestion
	}
	if r.LineNS > 0 {
		text += fmt.Sprintf("; a cache line takes %.0f ns between CPUs; rounds repeated: %d", r.LineNS, r.Repeated)
	}
	if r.TLS {
		text += "; all connections, TCP's too, are under TLS"
	}
	if r.ReadData {
		text += "; the data are read"
	}
	if r.HugePages {
		text += "; the heaps are in huge pages"
	}
	if r.PollTime != 0 {
		text += fmt.Sprintf("; Reads poll for %v", r.PollTime)
	}
	if r.OneCPU {
		text += fmt.Sprintf("; pinned to CPU %d", r.CPU)
	}
	return text
}

var columns = []string{"op", "conns", "size", "depth", "post", "pause", "CRC", "MB/s", "k msgs/s", "x TCP", "spread", "p50 µs", "p90", "p99", "max", "CPU µs/msg", "user", "system", "x TCP's CPU", "spread"}

// row returns the cells of the table. A cell without a value is "-".
func (r *Result) row() []string {
	cell := func(format string, v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf(format, v)
	}
	text := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	spread := func(s []float64) string {
		if len(s) != 2 {
			return "-"
		}
		return fmt.Sprintf("%.2f–%.2f", s[0], s[1])
	}
	lat := Latency{}
	if r.Lat != nil {
		lat = *r.Lat
	}
	pause := "-"
	if r.Pause > 0 {
		pause = r.Pause.String()
	}
	user, system := "-", "-"
	if r.CPUHere != nil && r.CPUThere != nil {
		user, system = fmt.Sprintf("%.2f", r.CPUHere.User+r.CPUThere.User), fmt.Sprintf("%.2f", r.CPUHere.System+r.CPUThere.System)
	}
	return []string{
		r.Op, fmt.Sprint(r.Conns), fmt.Sprint(r.Size), fmt.Sprint(r.Depth), text(r.Post), pause, text(r.CRC), cell("%.1f", r.BytesPerS/1e6), cell("%.1f", r.MsgsPerS/1e3),
		cell("%.2f", r.RatioToTCP), spread(r.RatioSpread), cell("%.1f", lat.P50), cell("%.1f", lat.P90), cell("%.1f", lat.P99), cell("%.0f", lat.Max),
		cell("%.2f", r.CPUPerOp), user, system, cell("%.2f", r.CPURatioToTCP), spread(r.CPURatioSpread),
	}
}
