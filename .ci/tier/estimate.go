package main

import "strings"

// seconds are about how long items take on two CPUs, by kind and folder or suite. They need not be
// exact: they only keep the shards alike, and decide which packages and suites are divided.
var seconds = map[string]int{}

// usual is the time of an item that is not in seconds, by the first word of its kind.
var usual = map[string]int{"conformance": 20, "machine": 20, "stutter": 60, "foreign": 120, "models": 60, "tshark": 60, "benchonce": 120}

// estimate returns about how many seconds an item takes.
func estimate(what, of string) int {
	if s, known := seconds[strings.TrimSpace(what+" "+of)]; known {
		return s
	}
	first, _, _ := strings.Cut(what, " ")
	return usual[first]
}
