package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The operations of rddp perf that matter here.
const (
	opWrite   = "write"
	opRead    = "read"
	opSend    = "send"
	opMessage = "message"
	opTCP     = "tcp"
)

// off is the CRC of operations without one.
const off = "off"

// timeout bounds each step.
const timeout = 30 * time.Second

// A measurement is the output of rddp perf --json.
type measurement struct {
	settings
	results []result
}

type settings struct {
	Rounds     int
	Time       time.Duration `json:"time_ns"` // of one run
	Ring       int           // length in bytes of the ring of data at each end
	Congestion string        // "" means the system's
	Buffer     int           // 0 means automatic
	OneCPU     bool          `json:"one_cpu"`
	CPU        int
}

type result struct {
	Op, CRC            string
	Size, Depth, Conns int
	Reference          string
	MsgsPerS           float64 `json:"msgs_per_s"`
	CPUPerOp           float64 `json:"cpu_us_per_msg"`
}

// A job selects the operation of one breakdown.
type job struct {
	op   string // opWrite, opRead or opSend
	size int
	crc  string
}

// The limits of the input. rddp perf has no larger values.
const (
	maxRing   = 1 << 30
	maxSize   = 64 << 20
	maxRounds = 1000
)

// parse parses the output of rddp perf --json.
func parse(input []byte) (*measurement, error) {
	m := new(measurement)
	for dec := json.NewDecoder(bytes.NewReader(input)); ; {
		var text json.RawMessage
		if err := dec.Decode(&text); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		var of struct{ Kind string }
		err := json.Unmarshal(text, &of)
		switch {
		case err != nil:
		case of.Kind == "settings":
			err = json.Unmarshal(text, &m.settings)
		case of.Kind == "result":
			var r result
			err = json.Unmarshal(text, &r)
			m.results = append(m.results, r)
		}
		if err != nil {
			return nil, fmt.Errorf("the input has %.100s: %w", text, err)
		}
	}
	if len(m.jobs()) == 0 {
		return nil, errNoJobs
	}
	if m.Rounds < 1 || m.Rounds > maxRounds || m.Ring < 1 || m.Ring > maxRing {
		return nil, fmt.Errorf("the input has %d rounds and a ring of %d bytes", m.Rounds, m.Ring)
	}
	return m, nil
}

// jobs returns the operations to measure, each once.
func (m *measurement) jobs() (all []job) {
	for _, r := range m.results {
		j := job{r.Op, r.Size, r.CRC}
		switch r.Op {
		case opMessage:
			j.op = opSend
		case opWrite, opRead, opSend:
		default:
			continue
		}
		if r.Depth == 1 && r.Size > 0 && r.Size <= maxSize && !slices.Contains(all, j) {
			all = append(all, j)
		}
	}
	return all
}
