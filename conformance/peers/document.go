package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The markers are lines of the document. What is between them is generated.
const (
	beginMarker = "<!-- begin figures: make bench-peers writes them -->"
	endMarker   = "<!-- end figures -->"
)

// replaceFigures returns the document with other text between its markers.
func replaceFigures(file, document, text string) (string, error) {
	before, rest, found := strings.Cut(document, beginMarker+"\n")
	_, after, ended := strings.Cut(rest, endMarker+"\n")
	if !found || !ended || strings.Count(document, beginMarker) != 1 || strings.Count(document, endMarker) != 1 {
		return "", &markerError{file}
	}
	return before + beginMarker + "\n\n" + strings.TrimSpace(text) + "\n\n" + endMarker + "\n" + after, nil
}

// figuresOf writes the generated part of the document: what was measured on what, the tables of
// each mode, and the charts. A chart is a file next to the document; figuresOf returns the files by
// name.
func figuresOf(ctx context.Context, date time.Time, all []*bench, host string) (text string, files map[string]string) {
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
	files = make(map[string]string)
	for _, b := range all {
		b.writeMode(&w, files)
	}
	return w.String(), files
}

// writeMode writes the tables of one mode, and the charts if the CPUs are all in use.
func (b *bench) writeMode(w *bytes.Buffer, files map[string]string) {
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
	if b.cpu >= 0 {
		return
	}
	fmt.Fprint(w, "\n### Plots\n\n")
	for _, op := range b.ops {
		c := b.chart(op)
		name := "performance-" + string(op) + ".svg"
		if files[name] = c.Document(); files[name] == "" {
			delete(files, name)
			continue
		}
		fmt.Fprintf(w, "![%s](%s)\n", c.Title, name)
	}
}

// writeDocument puts the generated part into the document, and the charts next to it.
func writeDocument(file, text string, files map[string]string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	document, err := replaceFigures(file, string(old), text)
	if err != nil {
		return err
	}
	for name, svg := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(file, []byte(document), 0o644)
}

// checkDocument reports whether writeDocument could put figures into the document, before they are
// measured.
func checkDocument(file string) error {
	old, err := os.ReadFile(file)
	if err == nil {
		_, err = replaceFigures(file, string(old), "")
	}
	return err
}

// hostText describes the machine: processor, number of CPUs, memory, kernel, congestion control.
func hostText(cpus int) string {
	info := readText("/proc/cpuinfo")
	text := fmt.Sprintf("%s (%d CPUs", field(info, "model name"), cpus)
	if strings.Contains(field(info, "flags")+" ", " hypervisor ") {
		text += ", virtual machine"
	}
	text += ")"
	var kib float64
	if _, err := fmt.Sscanf(field(readText("/proc/meminfo"), "MemTotal"), "%f kB", &kib); err == nil {
		text += fmt.Sprintf(", %.0f GiB", kib/(1<<20))
	}
	return text + ", Linux " + strings.TrimSpace(readText("/proc/sys/kernel/osrelease")) +
		", congestion control " + strings.TrimSpace(readText("/proc/sys/net/ipv4/tcp_congestion_control"))
}

// readText returns a file's text, or "" if it cannot be read.
func readText(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

// field returns the value of the first line of the form "name : value".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		n, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
