package main

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/conformance/lab/pipeline"
)

// MaxSize is the maximum size of a message, in bytes.
const MaxSize = 64 << 20

// Options select the results to compute. The zero value means the five links of 1 to 400 Gb/s,
// sizes from 1 B to 1 MiB, and a checksum in the DMA.
type Options struct {
	Links    []string // names, of those that Links returns
	Sizes    []int    // of messages, in bytes, 1 to MaxSize; in the order of the tables
	Separate bool     // the engine sums the bytes apart from the DMA
}

// An OptionError names the wrong option.
type OptionError struct {
	Option string // the name of the flag, without the dash
	Reason string
}

func (e *OptionError) Error() string { return "-" + e.Option + ": " + e.Reason }

// Links returns the names of the links, in the order of pipeline.Presets: the E-UDP testbed, and
// then the rates in Gb/s.
func Links() (names []string) {
	for _, p := range pipeline.Presets() {
		names = append(names, linkName(p))
	}
	return names
}

func linkName(p pipeline.Params) string {
	return strings.ToLower(strings.TrimSuffix(p.Name, " Gb/s"))
}

// links returns the parameters of the links that the Options name.
func (o Options) links() (links []pipeline.Params, err error) {
	names := o.Links
	if len(names) == 0 {
		names = Links()[1:]
	}
	all := make(map[string]pipeline.Params)
	for _, p := range pipeline.Presets() {
		all[linkName(p)] = p
	}
	for _, name := range names {
		p, ok := all[strings.ToLower(name)]
		if !ok {
			return nil, &OptionError{"link", fmt.Sprintf("%q is not one of %s", name, strings.Join(Links(), ", "))}
		}
		p.SeparateChecksum = o.Separate
		links = append(links, p)
	}
	return links, nil
}

// sizes returns the sizes that the Options name.
func (o Options) sizes() ([]int, error) {
	if len(o.Sizes) == 0 {
		var sizes []int
		for n := 1; n <= 1<<20; n *= 4 {
			sizes = append(sizes, n)
		}
		return sizes, nil
	}
	for _, n := range o.Sizes {
		if n < 1 || n > MaxSize {
			return nil, &OptionError{"size", fmt.Sprintf("%d is not between 1 and %d bytes", n, MaxSize)}
		}
	}
	return o.Sizes, nil
}
