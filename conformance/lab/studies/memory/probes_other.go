//go:build !linux || !amd64

package main

// probes are known for one kind of processor only.
var probes []probe
