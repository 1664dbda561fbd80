package main

import (
	"fmt"
	"slices"
)

// sheets returns the tables of a link.
func (n *network) sheets() []sheet {
	if n.connections != nil {
		return []sheet{connectionsSheet}
	}
	return []sheet{bytesSheet, timesSheet, modelSheet, countsSheet}
}

var lossColumn = column{"loss", func(p *point) string { return percent(p.loss) }}

var rateColumn = column{"rate in Mb/s: without, with", func(p *point) string {
	return fmt.Sprintf("%.1f, %.1f", p.without.rate()*8e-6, p.with.rate()*8e-6)
}}

// Columns of bytes, of all connections of a trial.
var (
	timeColumns = []column{{"time with a gap: without, with", func(p *point) string { return p.without.openShare() + ", " + p.with.openShare() }}}
	waitColumns = []column{
		{"without: all of them wait", func(p *point) string { return kB(p.without.held(), p.without.most.held) }},
		{"with: all of them", func(p *point) string { return kB(p.with.held(), p.with.most.held) }},
		{"with: not in place", func(p *point) string { return kB(p.with.waiting(), p.with.most.waiting) }},
	}
	startColumns = []column{{"slow start, maximum not in place: without, with", func(p *point) string {
		return thousands(float64(p.without.mostInSlowStart.waiting)) + ", " + thousands(float64(p.with.mostInSlowStart.waiting))
	}}}
	sizeColumns = []column{
		{"round trip in ms", func(p *point) string { return fmt.Sprintf("%.1f", p.roundTrip()*1e3) }},
		{"BufferSizeTCP in kB, K = 1", func(p *point) string { return thousands(p.bandwidthDelay()) }},
		{"BufferSizeNAF in kB, K1 = K2 = 1", func(p *point) string { return thousands(p.nonAligned()) }},
		{"BufferSizeAF in kB, K2 = 1", func(p *point) string { return thousands(p.aligned()) }},
	}
	constantColumns = []column{
		{"K, without", func(p *point) string { return p.constants(p.without.held(), p.without.most.held, p.bandwidthDelay()) }},
		{"K, computed", func(p *point) string {
			if p.loss == 0 {
				return "–"
			}
			return fmt.Sprintf("%.2f", p.k())
		}},
		{"K2, with", func(p *point) string { return p.constants(p.with.waiting(), p.with.most.waiting, p.aligned()) }},
	}
)

// The tables.
var (
	bytesSheet = sheet{"Bytes behind a gap, mean while there is one and (maximum), in kB",
		slices.Concat([]column{lossColumn, rateColumn}, timeColumns, waitColumns, startColumns)}

	timesSheet = sheet{"Time from the arrival of a segment until its payload is in place, in ms", []column{
		lossColumn,
		{"segments behind a gap: without, with", func(p *point) string { return p.without.behindShare() + ", " + p.with.behindShare() }},
		{"these, without: mean, median, p99", func(p *point) string { return times(p.without.behind) }},
		{"these, with: mean, median, p99", func(p *point) string { return times(p.with.behind) }},
		{"all, without: mean, median, p99", func(p *point) string { return times(p.without.all) }},
		{"all, with: mean, median, p99", func(p *point) string { return times(p.with.all) }},
	}}

	modelSheet = sheet{"The model of RFC 5044, and what K and K2 were, as mean and (maximum)", slices.Concat([]column{lossColumn}, sizeColumns, constantColumns)}

	countsSheet = sheet{"Stats of the receiver, with early placement", []column{
		lossColumn,
		{"FPDUs received", func(p *point) string { return fmt.Sprint(p.with.stats.Received.FPDUs) }},
		{"EarlyFPDUs", func(p *point) string { return fmt.Sprint(p.with.stats.EarlyFPDUs) }},
		{"SavedCopies", func(p *point) string { return fmt.Sprint(p.with.stats.SavedCopies) }},
		{"BufferedOctets", func(p *point) string { return fmt.Sprint(p.with.stats.BufferedOctets) }},
	}}

	connectionsSheet = sheet{"Bytes behind the gaps of all connections, mean while there is one and (maximum), in kB, and the model of RFC 5044", slices.Concat(
		[]column{{"connections", func(p *point) string { return fmt.Sprint(p.connections) }}, rateColumn}, timeColumns, waitColumns, sizeColumns, constantColumns)}
)
