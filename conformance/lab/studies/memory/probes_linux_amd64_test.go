//go:build !race

package main

import "testing"

// TestFindFunctions: each probe has its own place.
func TestFindFunctions(t *testing.T) {
	places, _, err := findFunctions()
	if err != nil {
		t.Fatal(err)
	}
	taken := make(map[uint64]bool)
	for _, p := range probes {
		place := places[p.function]
		if place == 0 || taken[place] {
			t.Errorf("%s is at %#x", p.function, place)
		}
		taken[place] = true
	}
}
