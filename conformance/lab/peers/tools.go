package main

import (
	"context"
	"debug/buildinfo"
	"os/exec"
	"regexp"
)

// A tool is a program that contenders use.
type tool struct {
	name     string // common name
	command  string
	pkg      string // Debian's package
	optional bool   // Debian has no package: without the tool, the tables say "not installed"
	version  []string
}

var (
	toolRDDP     = &tool{name: "rddp"}
	toolUCX      = &tool{name: "UCX", command: "ucx_perftest", pkg: "ucx-utils", version: []string{"ucx_info", "-v"}}
	toolPingpong = &tool{name: "libfabric", command: "fi_pingpong", pkg: "libfabric-bin", version: []string{"fi_info", "--version"}}
	toolRMA      = &tool{name: "fabtests", command: "fi_rma_bw", optional: true}
	toolIperf    = &tool{name: "iperf3", command: "iperf3", pkg: "iperf3", version: []string{"iperf3", "--version"}}
	toolTaskset  = &tool{name: "taskset", command: "taskset", pkg: "util-linux"}
)

// installed reports whether the tool is installed. The error is a *notInstalledError if the tool is
// missing and needed.
func (t *tool) installed() (bool, error) {
	if t.command == "" {
		return true, nil
	}
	if _, err := exec.LookPath(t.command); err == nil {
		return true, nil
	}
	if t.optional {
		return false, nil
	}
	return false, &notInstalledError{t.command, t.pkg}
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// versionOf returns the version that the tool prints, or "unknown".
func (t *tool) versionOf(ctx context.Context) string {
	if len(t.version) > 0 {
		out, _ := exec.CommandContext(ctx, t.version[0], t.version[1:]...).Output()
		if v := versionNumber.FindString(string(out)); v != "" {
			return v
		}
	}
	return "unknown"
}

// releaseOf returns the Go release with which a program was built.
func releaseOf(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "an unknown Go release"
	}
	return info.GoVersion
}
