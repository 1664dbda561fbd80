//go:build !unix

package main

import "errors"

func mapCounters(string, int) (counters, error) { return nil, errors.ErrUnsupported }
