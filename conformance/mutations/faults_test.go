package mutations

import "slices"

// A Fault is one change of one file.
type Fault struct {
	Name     string
	File     string // relative to the module's root
	Old, New string // Old is in File once
	// IDs are requirements that the fault breaks: one of the tests that cover them has to fail.
	IDs []string
	// Tests, where no RFC has the requirement, are the tests that have to fail, as a pattern, and
	// Package is where. Tags are the build tags that they need.
	Tests, Package, Tags string
}

// Faults are the faults, by layer.
var Faults = slices.Concat(mpaFaults, ddpFaults, rdmapFaults, extsockFaults, memoryFaults, deviceFaults, toeFaults, userTCPFaults, badlinkFaults, cmdFaults, runFaults, runDeviceFaults, legalFaults)
