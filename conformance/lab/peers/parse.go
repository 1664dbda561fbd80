package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// This file has the parsers of the tools' output. Each returns finite numbers above 0, or an
// *outputError.

// A ucxResult is a line of ucx_perftest.
type ucxResult struct {
	Latency float64 // of one operation in seconds; half a round trip for a ping-pong
	Rate    float64 // operations per second
}

// parseUCX parses the output of ucx_perftest with -f and -v: a line of names and one of values.
func parseUCX(out []byte) (r ucxResult, err error) {
	const tool = "ucx_perftest"
	if !bytes.HasSuffix(out, []byte("\n")) {
		return r, wrongOutput(tool, "the last line is cut")
	}
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll() // it checks that all rows have the same length
	if err != nil {
		return r, wrongOutput(tool, "%v", err)
	}
	if len(rows) != 2 {
		return r, wrongOutput(tool, "%d lines instead of 2", len(rows))
	}
	us, err := column(tool, rows[0], rows[1], "overall_lat")
	if err != nil {
		return r, err
	}
	r.Rate, err = column(tool, rows[0], rows[1], "overall_mr")
	r.Latency = us / 1e6
	return r, err
}

// A fabricResult is a line of fi_pingpong or of a benchmark of fabtests.
type fabricResult struct {
	Rate    float64 // bytes per second
	Latency float64 // of one transfer in seconds; half a round trip for a ping-pong
}

// parseFabric parses the output of one end of fi_pingpong or fi_rma_bw for one size: a line of
// names and one of values.
func parseFabric(tool string, out []byte) (r fabricResult, err error) {
	text, whole := strings.CutSuffix(string(out), "\n")
	if !whole {
		return r, wrongOutput(tool, "the last line is cut")
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 2 {
		return r, wrongOutput(tool, "%d lines instead of 2", len(lines))
	}
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(names) != len(values) {
		return r, wrongOutput(tool, "%d names and %d values", len(names), len(values))
	}
	mb, err := column(tool, names, values, "MB/sec") // bytes per microsecond
	if err != nil {
		return r, err
	}
	us, err := column(tool, names, values, "usec/xfer")
	return fabricResult{mb * 1e6, us / 1e6}, err
}

// column returns the value under a name.
func column(tool string, names, values []string, name string) (float64, error) {
	for i, n := range names {
		if n != name {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(values[i]), 64)
		if err != nil {
			return 0, wrongOutput(tool, "%s: %v", name, err)
		}
		return v, positive(tool, name, v)
	}
	return 0, wrongOutput(tool, "no %s", name)
}

// positive checks that v is a figure: finite and above 0. The limits leave room for sums and
// ratios.
func positive(tool, name string, v float64) error {
	if math.IsNaN(v) || v < 1e-12 || v > 1e18 {
		return wrongOutput(tool, "%s is %v", name, v)
	}
	return nil
}

// parseIperf parses the output of iperf3 with -J. It returns the bytes per second that the receiver
// saw.
func parseIperf(out []byte) (rate float64, err error) {
	const tool = "iperf3"
	var report struct {
		Error string
		End   struct {
			SumReceived struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, wrongOutput(tool, "%v", err)
	}
	if report.Error != "" {
		return 0, wrongOutput(tool, "it reports %q", report.Error)
	}
	rate = report.End.SumReceived.BitsPerSecond / 8
	return rate, positive(tool, "sum_received.bits_per_second", rate)
}

// A perfResult is one result of rddp perf.
type perfResult struct {
	Op       string
	CRC      string
	Size     int
	Depth    int
	Post     string
	MsgsPerS float64 `json:"msgs_per_s"`
}

// parsePerf parses the output of `rddp perf --json`: one object per line. Lines that are not
// results have no rate, and parsePerf leaves them out.
func parsePerf(out []byte) (results []perfResult, err error) {
	const tool = "rddp perf"
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var r perfResult
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, wrongOutput(tool, "%v", err)
		}
		if r.Op == "" || r.MsgsPerS == 0 {
			continue
		}
		if r.Size < 1 {
			return nil, wrongOutput(tool, "a size of %d", r.Size)
		}
		if err := positive(tool, "msgs_per_s", r.MsgsPerS); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, wrongOutput(tool, "no results")
	}
	return results, nil
}
