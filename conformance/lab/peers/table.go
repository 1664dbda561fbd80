package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// A row is a row of the table of ratios: one of our series next to one of a peer.
type row struct {
	op         operation
	ours, peer string
	goal       *goal
}

// A goal is a limit for the ratio.
type goal struct {
	limit   float64
	atMost  bool // otherwise the ratio must exceed the limit
	largest int  // the goal holds for sizes up to this one
}

var (
	goalWrite   = &goal{limit: 1, largest: 64 << 10}
	goalLatency = &goal{limit: 1.15, atMost: true, largest: 64}
)

func (g *goal) String() string {
	if g.atMost {
		return fmt.Sprintf("≤ %v up to %s", g.limit, plot.Size(float64(g.largest)))
	}
	return fmt.Sprintf("> %v up to %s", g.limit, plot.Size(float64(g.largest)))
}

// peerSeries are the series of an operation that are not ours, in the order of the tables.
func peerSeries(op operation) (names []string) {
	for _, c := range contenders(op) {
		if !c.isOurs() {
			names = append(names, c.series...)
		}
	}
	return append(names, plainTCP)
}

// ourSeries are our series, in the order of the tables.
var ourSeries = map[operation][]string{
	opWrite: {"RDMA Write" + noCRC, "RDMA Write" + batch + noCRC, "RDMA Write", "RDMA Write" + batch},
	opRead:  {"RDMA Read" + noCRC, "RDMA Read"},
	opSend:  {"Send" + noCRC, "Send"},
	opLatency: {
		"message" + noCRC, "message", "byte stream" + noCRC, "byte stream",
		"message" + polls + noCRC, "message" + polls, "byte stream" + polls + noCRC, "byte stream" + polls,
	},
	opStream: {"byte stream" + noCRC, "byte stream"},
}

// rows returns the rows of the table of ratios. There is none if our series polls and the peer
// sleeps.
func rows(ops []operation) (all []row) {
	for _, op := range ops {
		for _, our := range ourSeries[op] {
			for _, peer := range peerSeries(op) {
				if strings.Contains(our, polls) && strings.HasSuffix(peer, sleeps) {
					continue
				}
				all = append(all, row{op, our, peer, goalOf(our, peer)})
			}
		}
	}
	return all
}

// goalOf returns the goal of a row, or nil.
func goalOf(our, peer string) *goal {
	switch {
	case strings.Contains(peer, injected): // not at the same depth
	case our == "RDMA Write"+noCRC && (strings.HasPrefix(peer, "UCX ucp_put_bw") || strings.HasPrefix(peer, "fi_rma_bw write")):
		return goalWrite
	case (our == "message"+polls+noCRC || our == "byte stream"+polls+noCRC) && peer == "UCX tag_lat":
		return goalLatency
	}
	return nil
}

// A spread is the median of the rounds, the lowest and the highest, and the number of rounds.
type spread struct {
	median, low, high float64
	rounds            int
}

// spreadOf leaves out values that are not numbers.
func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(values), math.IsNaN)))
	n := len(v)
	if n == 0 {
		return spread{}
	}
	return spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1], n}
}

// ratio returns the ratio of two series, round by round.
func (b *bench) ratio(op operation, ours, peer string, size int) spread {
	a, p := b.values[key{op, ours, size}], b.values[key{op, peer, size}]
	var ratios []float64
	for i := range min(len(a), len(p)) {
		ratios = append(ratios, a[i]/p[i])
	}
	return spreadOf(ratios)
}

// cell prints a spread, or the reason why the series k has no figures.
func (b *bench) cell(s spread, k key) string {
	switch {
	case s.rounds > 0:
	case b.absent[k.series] != "":
		return b.absent[k.series]
	case len(b.values[k]) == 0:
		return notRun
	default:
		return failed
	}
	text := fmt.Sprintf("%s (%s–%s)", short(s.median), short(s.low), short(s.high))
	if s.rounds < b.rounds {
		text += fmt.Sprintf(", %d of %d rounds", s.rounds, b.rounds)
	}
	return text
}

// short prints v with about three digits, and without an exponent.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// outcome says whether a row reaches its goal. If other work slows down a peer, the comparison
// proves nothing.
func (b *bench) outcome(r row) string {
	if r.goal == nil {
		return ""
	}
	var missed []string
	measured := false
	for _, size := range b.sizes {
		s := b.ratio(r.op, r.ours, r.peer, size)
		if size > r.goal.largest || s.rounds == 0 {
			continue
		}
		measured = true
		if r.goal.atMost && s.median > r.goal.limit || !r.goal.atMost && s.median <= r.goal.limit {
			missed = append(missed, plot.Size(float64(size)))
		}
	}
	switch {
	case !measured:
		return r.goal.String() + ": not measured"
	case b.busy():
		return r.goal.String() + ": the machine was too busy"
	case len(missed) > 0:
		return r.goal.String() + ": missed at " + strings.Join(missed, ", ")
	}
	return r.goal.String() + ": reached"
}

// shown reports whether the table has this row: whether both series take part in the mode of b.
func (b *bench) shown(r row) bool {
	return b.absent[r.ours] != otherMode && b.absent[r.peer] != otherMode
}

// writeRatios writes the table of ratios in Markdown.
func (b *bench) writeRatios(w io.Writer) {
	fmt.Fprint(w, "| operation | rddp | next to |")
	for _, size := range b.sizes {
		fmt.Fprintf(w, " %s |", plot.Size(float64(size)))
	}
	fmt.Fprintf(w, " goal |\n| --- | --- | --- |%s --- |\n", strings.Repeat(" --- |", len(b.sizes)))
	for _, r := range rows(b.ops) {
		if !b.shown(r) {
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %s |", title(r.op), r.ours, r.peer)
		for _, size := range b.sizes {
			fmt.Fprintf(w, " %s |", b.cell(b.ratio(r.op, r.ours, r.peer, size), key{r.op, r.peer, size}))
		}
		fmt.Fprintf(w, " %s |\n", b.outcome(r))
	}
}

// title returns the title of an operation. It says in which direction ratios are good.
func title(op operation) string {
	if op.isTime() {
		return string(op) + " (less is better)"
	}
	return string(op)
}

// writeFigures writes the medians of all series in Markdown.
func (b *bench) writeFigures(w io.Writer) {
	fmt.Fprint(w, "| operation | series |")
	for _, size := range b.sizes {
		fmt.Fprintf(w, " %s |", plot.Size(float64(size)))
	}
	fmt.Fprintf(w, "\n| --- | --- |%s\n", strings.Repeat(" --- |", len(b.sizes)))
	for _, op := range b.ops {
		for _, name := range slices.Concat(ourSeries[op], peerSeries(op)) {
			if b.absent[name] == otherMode {
				continue
			}
			fmt.Fprintf(w, "| %s | %s |", op, name)
			for _, size := range b.sizes {
				fmt.Fprintf(w, " %s |", b.figure(op, name, size))
			}
			fmt.Fprintln(w)
		}
	}
}

// figure prints the median of a series.
func (b *bench) figure(op operation, name string, size int) string {
	s := spreadOf(b.values[key{op, name, size}])
	switch {
	case s.rounds == 0:
		return b.cell(s, key{op, name, size})
	case op.isTime():
		return short(s.median*1e6) + " µs"
	}
	return fmt.Sprintf("%s MB/s, %s k/s", short(s.median/1e6), short(s.median/float64(size)/1e3))
}
