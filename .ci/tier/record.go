package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A record is one line of the record file: a step that has ended, or an attempt of a test that
// failed at least once.
type record struct {
	Step    string  `json:"step,omitempty"`
	Test    string  `json:"test,omitempty"`
	Package string  `json:"package,omitempty"`
	Attempt int     `json:"attempt,omitempty"` // 1 is the first
	Result  string  `json:"result"`            // pass, fail, skip, hung or not run
	Seconds float64 `json:"seconds"`
}

// recordVariable is the environment variable with the name of the record file. A step appends to
// the file of the run that it belongs to.
const recordVariable = "RDDP_TIER_RECORD"

// recordName returns the name of the file. begun reports whether this process is part of a run that
// has already begun it.
func recordName() (name string, begun bool) {
	if name = os.Getenv(recordVariable); name != "" {
		return name, true
	}
	return filepath.Join("bin", "tier.jsonl"), false
}

// appendRecord adds lines to the record.
func appendRecord(name string, records ...record) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// readRecord returns the lines of the record, or none if there is no file.
func readRecord(name string) (records []record, err error) {
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		records = append(records, r)
	}
	return records, nil
}
