package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
)

// figuresOf writes the generated part of the document: the conditions of the measurement, and the
// tables of each mode.
func figuresOf(ctx context.Context, date time.Time, all []*bench, host string) string {
	var w bytes.Buffer
	b := all[0]
	fmt.Fprintf(&w, "Measured on %s, on %s.\n\n", date.Format("2006-01-02"), host)
	fmt.Fprintf(&w, "rddp %s, built with %s; ", b.revision, releaseOf(b.rddp))
	fmt.Fprintf(&w, "UCX %s; libfabric %s; iperf3 %s. ", toolUCX.versionOf(ctx), toolPingpong.versionOf(ctx), toolIperf.versionOf(ctx))
	if there, _ := toolRMA.installed(); there {
		fmt.Fprintln(&w, "fi_rma_bw of fabtests is installed.")
	} else {
		fmt.Fprintln(&w, "fi_rma_bw of fabtests is not installed.")
	}
	fmt.Fprintf(&w, "Medians of %d rounds, lowest and highest round in parentheses; runs of %v; at most %d operations at once.\n", b.rounds, b.time, depth)
	for _, b := range all {
		b.writeMode(&w)
	}
	return w.String()
}

// writeMode writes the tables of one mode.
func (b *bench) writeMode(w *bytes.Buffer) {
	if b.cpu < 0 {
		fmt.Fprint(w, "\n## All CPUs: rddp's figure divided by the peer's\n\n")
	} else {
		fmt.Fprintf(w, "\n## One CPU: rddp's figure divided by the peer's\n\nAll processes are pinned to CPU %d.\n\n", b.cpu)
	}
	if text := b.loadText(); text != "" {
		fmt.Fprintf(w, "%s\n\n", text)
	}
	b.writeRatios(w)
	fmt.Fprint(w, "\n### Medians\n\n")
	b.writeFigures(w)
	if len(b.failures) > 0 {
		fmt.Fprintf(w, "\nRuns that failed: %d.\n\n", len(b.failures))
		for _, err := range b.failures {
			fmt.Fprintf(w, "- %s\n", strings.Join(strings.Fields(err.Error()), " "))
		}
	}
}
