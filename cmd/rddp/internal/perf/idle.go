package perf

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// An Idle contains the cost of connections of one kind without a job: the time to open them one
// after another, and their memory while idle. Each figure is the median over the rounds.
type Idle struct {
	Conns  int    `json:"conns"`
	Over   string `json:"over"`          // "tcp", "stream", or "verbs" (messages and Work Requests)
	CRC    string `json:"crc,omitempty"` // "on" or "off"; "" for plain TCP
	Rounds int    `json:"rounds"`

	// OpenUS is the time to open one connection, in microseconds: the mean of a round. If there are
	// few connections, some more are opened for this figure, and closed at once.
	OpenUS float64 `json:"open_us"`
	// OpenRatio is that time divided by plain TCP's in the same round. More than 1 is slower.
	OpenRatio  float64   `json:"open_ratio_to_tcp,omitempty"`
	OpenSpread []float64 `json:"open_ratio_spread,omitempty"` // the lowest and the highest of the rounds
	OpenLat    *Latency  `json:"open_lat_us"`                 // of all rounds

	// Memory of one connection, in bytes, at this end and at the servers: the growth of the
	// process's memory, divided by the number of connections. Beyond is the difference to plain TCP
	// in the same round. Nil if there are too few connections to tell.
	Here        *Memory `json:"memory_here,omitempty"`
	There       *Memory `json:"memory_there,omitempty"`
	HereBeyond  *Memory `json:"memory_here_beyond_tcp,omitempty"`
	ThereBeyond *Memory `json:"memory_there_beyond_tcp,omitempty"`
}

// memoryConns is the minimum number of connections whose memory is reported. With fewer, other
// changes in the process's memory are larger.
const memoryConns = 64

// result returns the medians over the rounds.
func (d *idles) result(conns, rounds int) Idle {
	r := Idle{
		Conns: conns, Over: string(d.lane.over), Rounds: rounds, OpenUS: 1e6 * median(d.seconds), OpenRatio: median(d.ratios),
		OpenSpread: spread(d.ratios), OpenLat: latencyOf(d.open),
	}
	if d.lane.over != overTCP {
		r.CRC = onOff(d.lane.crc)
	}
	if conns < memoryConns {
		return r
	}
	here, there := medianMemory(d.memory[0]), medianMemory(d.memory[1])
	r.Here, r.There = &here, &there
	if d.lane.over != overTCP {
		here, there := medianMemory(d.beyond[0]), medianMemory(d.beyond[1])
		r.HereBeyond, r.ThereBeyond = &here, &there
	}
	return r
}

var idleColumns = []string{
	"conns", "over", "CRC", "open µs", "p50", "p99", "x TCP's time", "spread", "KB here: RAM", "heap", "stack", "KB there: RAM", "heap", "stack",
	"beyond TCP here: RAM", "heap+stack", "there: RAM", "heap+stack",
}

// row returns the cells of the table. A cell without a value is "-".
func (r *Idle) row() []string {
	cells := []string{fmt.Sprint(r.Conns), r.Over, "-", fmt.Sprintf("%.1f", r.OpenUS), "-", "-", "-", "-"}
	if r.CRC != "" {
		cells[2] = r.CRC
	}
	if r.OpenLat != nil {
		cells[4], cells[5] = fmt.Sprintf("%.1f", r.OpenLat.P50), fmt.Sprintf("%.1f", r.OpenLat.P99)
	}
	if len(r.OpenSpread) == 2 {
		cells[6], cells[7] = fmt.Sprintf("%.2f", r.OpenRatio), fmt.Sprintf("%.2f–%.2f", r.OpenSpread[0], r.OpenSpread[1])
	}
	kb := func(v float64) string { return fmt.Sprintf("%.1f", v/1e3) }
	for _, m := range []*Memory{r.Here, r.There} {
		if m == nil {
			cells = append(cells, "-", "-", "-")
		} else {
			cells = append(cells, kb(m.Resident), kb(m.Heap), kb(m.Stack))
		}
	}
	for _, m := range []*Memory{r.HereBeyond, r.ThereBeyond} {
		if m == nil {
			cells = append(cells, "-", "-")
		} else {
			cells = append(cells, kb(m.Resident), kb(m.Heap+m.Stack))
		}
	}
	return cells
}

// writeIdles writes a table.
func writeIdles(w io.Writer, idles []Idle) error {
	fmt.Fprintln(w, "\nopening connections one after another, and the memory of an idle one (KB: 1000 bytes; its ring included)")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	writeRow(t, idleColumns)
	for i := range idles {
		writeRow(t, idles[i].row())
	}
	return t.Flush()
}
