//go:build !linux || !amd64 || race

package main

// probes are known for one kind of processor only, and not under the race detector.
var probes []probe
