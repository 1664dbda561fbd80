package main

import (
	"bufio"
	"encoding/json"
	"io"
)

// longestLine bounds a line of the input.
const longestLine = 1 << 20

// read reads the objects, one per line. The first one determines their kind.
func read(r io.Reader) (source, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	var s interface {
		source
		add(kind string, line []byte) (known bool, err error)
	}
	n := 0
	for lines.Scan() {
		n++
		var of struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &of); err != nil {
			return nil, &InputError{n, "no JSON object", err}
		}
		if s == nil {
			switch of.Kind {
			case kindSettings:
				s = new(measured)
			case kindParameters:
				s = new(computed)
			default:
				return nil, &InputError{n, "neither rddp perf --json nor model -json begins with the kind " + of.Kind, nil}
			}
		}
		known, err := s.add(of.Kind, lines.Bytes())
		if err == nil && !known {
			return nil, &InputError{n, "unknown kind " + of.Kind, nil}
		}
		if err != nil {
			return nil, &InputError{n, "an object of the kind " + of.Kind, err}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &InputError{n + 1, "cannot be read", err}
	}
	if s == nil {
		return nil, &InputError{0, "the input is empty", nil}
	}
	return s, nil
}

// decode appends an object to a list.
func decode[T any](list *[]T, line []byte) (known bool, err error) {
	var v T
	if err := json.Unmarshal(line, &v); err != nil {
		return true, err
	}
	*list = append(*list, v)
	return true, nil
}
