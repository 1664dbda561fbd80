package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAppendixB: "For example, a 1 GB/sec link with 10,000 connections and an EMSS of 1500 B would
// require 15 MB of memory." (RFC 5044 §B.2) With aligned FPDUs, "An FPDU Aligned receiver may
// require memory in the range of ~100s of KB", however many connections there are.
func TestAppendixB(t *testing.T) {
	if got := bufferSizeNAF(1, 0, 1500, 10_000); got != 15e6 {
		t.Errorf("BufferSizeNAF = %v, want 15 MB", got)
	}
	for _, connections := range []int{1, 10_000} {
		perSegment := bufferSizeNAF(1, 100, 1500, connections) - bufferSizeNAF(1, 0, 1500, connections)
		if af := bufferSizeAF(100, 1500); af != 150e3 || perSegment != af {
			t.Errorf("%d connections: BufferSizeAF = %v, and %v of BufferSizeNAF", connections, af, perSegment)
		}
	}
	// "10x more buffers for a 10x increase in end-to-end bandwidth"
	if one, ten := bufferSizeTCP(1, 1e9, 0.02), bufferSizeTCP(1, 10e9, 0.02); one != 20e6 || ten != 10*one {
		t.Errorf("BufferSizeTCP = %v, and %v at ten times the bandwidth", one, ten)
	}
}

// TestFullLink compares the closed form with a simulation.
func TestFullLink(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	for l, slots := range map[fullLink]int{{0.001, 100}: 400_000, {0.01, 20}: 200_000, {0.05, 40}: 100_000, {0.3, 5}: 50_000} {
		waiting := l.simulate(seed, slots)
		open, segments := share(waiting)
		wantOpen, wantSegments := l.gap()
		if math.Abs(open/wantOpen-1) > 0.05 || math.Abs(segments/wantSegments-1) > 0.05 {
			t.Errorf("%+v: gap open %.4f of the time with %.3f segments, the closed form says %.4f and %.3f", l, open, segments, wantOpen, wantSegments)
		}
		const connections = 3
		for other := range uint64(connections - 1) {
			for i, n := range l.simulate(seed+1+other, slots) {
				waiting[i] += n
			}
		}
		_, segments = share(waiting)
		if k, want := segments/float64(connections*l.perRTT), l.k(connections); math.Abs(k/want-1) > 0.05 {
			t.Errorf("%+v: K of %d connections is %.4f, the closed form says %.4f", l, connections, k, want)
		}
	}
}

// simulate returns how many segments wait in each slot of a simulated connection.
func (l fullLink) simulate(seed uint64, slots int) (waiting []int) {
	random := rand.New(rand.NewPCG(seed, 5044))
	arrives := make([]int, 0, slots) // by segment
	oldest := 0
	for now := range slots {
		at := now
		for random.Float64() < l.loss {
			at += l.perRTT
		}
		arrives = append(arrives, at)
		for oldest <= now && arrives[oldest] <= now {
			oldest++
		}
		n := 0
		for _, at := range arrives[oldest:] {
			if at <= now {
				n++
			}
		}
		waiting = append(waiting, n)
	}
	return waiting
}

// share returns the share of slots in which segments wait, and their mean number in these.
func share(waiting []int) (open, segments float64) {
	gaps, sum := 0, 0
	for _, n := range waiting {
		if n > 0 {
			gaps++
			sum += n
		}
	}
	return float64(gaps) / float64(len(waiting)), float64(sum) / float64(gaps)
}

// TestFullLinkLimits: after a single loss, on average half of a round trip's segments wait, so K is
// a half if losses are rare. Without loss there is no gap.
func TestFullLinkLimits(t *testing.T) {
	if k := (fullLink{1e-9, 1000}).k(1); math.Abs(k-0.5) > 0.001 {
		t.Errorf("K is %v where losses are rare, want 0.5", k)
	}
	if open, segments := (fullLink{0, 1000}).gap(); open != 0 || segments != 0 {
		t.Errorf("without loss: a gap for %v of the time, with %v segments", open, segments)
	}
	last := 0.0
	for _, loss := range []float64{0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.2} {
		k := fullLink{loss, 172}.k(1)
		if k <= last {
			t.Errorf("K is %v at loss %v, and %v at the loss before", k, loss, last)
		}
		last = k
	}
}
