//go:build !linux || !amd64 || race

package main

// probes are known only for amd64, and not under the race detector.
var probes []probe
