// Package timeline checks the timelines of `rddp run --trace`, as a reader of Chrome's Trace Event
// Format takes them.
package timeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// An Event is an event of the format.
type Event struct {
	Phase string         `json:"ph"`
	Name  string         `json:"name"`
	PID   uint32         `json:"pid"`
	TID   uint32         `json:"tid"`
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur"`
	ID    string         `json:"id"`
	Args  map[string]any `json:"args"`
	// the names of its process and track
	Process, Track string `json:"-"`
}

// A row is a track while its events are looked at, in the order of their times.
type row struct {
	name string
	open []Event
	end  float64 // of the last event with a duration
}

// Check returns the events of a file but the names, in the order of their times. It returns an
// error if the array is closed, if a line is no object, if a process or a track has no name, if
// spans of a track overlap or do not end, or if an arrow is at no event.
func Check(file []byte) ([]Event, error) {
	rest, ok := bytes.CutPrefix(file, []byte("[\n"))
	if !ok {
		return nil, fmt.Errorf("the file begins with %.20q", file)
	}
	var all []Event
	rows, processes := make(map[[2]uint32]*row), make(map[uint32]string)
	for line := range bytes.Lines(rest) {
		line, ok := bytes.CutSuffix(line, []byte(",\n"))
		var e Event
		if err := json.Unmarshal(line, &e); err != nil || !ok {
			return nil, fmt.Errorf("%v in the line %s", err, line)
		}
		switch {
		case e.Phase != "M":
			all = append(all, e)
		case e.Name == "process_name":
			processes[e.PID], _ = e.Args["name"].(string)
		case e.Name == "thread_name":
			rows[[2]uint32{e.PID, e.TID}] = &row{name: e.Args["name"].(string), end: math.Inf(-1)}
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.TS, b.TS) })
	for i := range all {
		e := &all[i]
		r := rows[[2]uint32{e.PID, e.TID}]
		if r == nil || processes[e.PID] == "" {
			return nil, fmt.Errorf("%+v has no track with a name", *e)
		}
		e.Process, e.Track = processes[e.PID], r.name
		if err := r.take(e); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		if len(r.open) > 0 {
			return nil, fmt.Errorf("%s: %d spans do not end: %+v", r.name, len(r.open), r.open[0])
		}
	}
	return all, nil
}

// rounding is how much a time may differ from the one in the file, in microseconds.
const rounding = 0.001

func (r *row) take(e *Event) error {
	switch e.Phase {
	case "B":
		if r.open = append(r.open, *e); len(r.open) > 1 {
			return fmt.Errorf("%s: %+v begins in %+v", r.name, *e, r.open[0])
		}
	case "E":
		if len(r.open) == 0 {
			return fmt.Errorf("%s: %+v ends nothing", r.name, *e)
		}
		r.open = r.open[:len(r.open)-1]
	case "X":
		if e.TS < r.end-rounding || e.Dur < 0 {
			return fmt.Errorf("%s: %+v begins before %f", r.name, *e, r.end)
		}
		r.end = e.TS + e.Dur
	case "s", "f":
		if e.TS >= r.end || e.ID == "" {
			return fmt.Errorf("%s: the arrow %+v is at no event", r.name, *e)
		}
	case "i":
	default:
		return fmt.Errorf("%+v has another phase", *e)
	}
	return nil
}

// Count returns how many events have a phase, and a name that begins with a text.
func Count(all []Event, phase, name string) (n int) {
	for _, e := range all {
		if e.Phase == phase && strings.HasPrefix(e.Name, name) {
			n++
		}
	}
	return n
}

// Arrows returns how many arrows have both ends, and how many have one.
func Arrows(all []Event) (whole, half int) {
	ends := make(map[string]int)
	for _, e := range all {
		switch e.Phase {
		case "s":
			ends[e.ID]++
		case "f":
			ends[e.ID] += 2
		}
	}
	for _, n := range ends {
		if n == 3 {
			whole++
		} else {
			half++
		}
	}
	return whole, half
}
