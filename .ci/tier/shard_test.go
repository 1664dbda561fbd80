package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseShard(t *testing.T) {
	if s, err := parseShard("3/40"); err != nil || s != (shard{3, 40}) {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range []string{"", "3", "0/4", "5/4", "-1/4", "1/x", "1/2/3"} {
		if _, err := parseShard(bad); err == nil {
			t.Errorf("parseShard(%q) does not fail", bad)
		}
	}
}

// TestShardsAreEverything: each item is in one shard, for any number of shards, and the shards are
// balanced.
func TestShardsAreEverything(t *testing.T) {
	var items []item
	for i := range 300 {
		items = append(items, item{step{name: fmt.Sprint("item ", i)}, 1 + i*i%150})
	}
	for of := 1; of <= 400; of += 13 {
		seen := map[string]int{}
		for _, own := range divide(items, of) {
			for _, it := range own {
				seen[it.name]++
			}
			if most := total(items)/of + 150; total(own) > most {
				t.Errorf("a shard of %d takes %d s, of %d", of, total(own), total(items))
			}
		}
		for _, it := range items {
			if seen[it.name] != 1 {
				t.Errorf("%s is in %d of %d shards", it.name, seen[it.name], of)
			}
		}
	}
}

// TestNightlyIsEverything: there are items of each kind, and no two have the same name.
func TestNightlyIsEverything(t *testing.T) {
	t.Chdir("../..")
	work, err := filepath.Abs(".ci/go.work")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOWORK", work)
	n := nightly{
		ctx: t.Context(), all: []string{"./...", "./toe/usertcp/...", "./conformance/lab/..."},
		layers: []string{"./mpa/...", "./extsock/..."}, hostile: []string{"./conformance/hostile"},
		wild: []string{"./conformance/hostile", "./toe/tun", "./toe/usertcp"}, machines: []string{"386 native", "s390x qemu-s390x -short"},
	}
	if err := n.collect(40); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	kinds := map[string]int{}
	for _, it := range n.items {
		if seen[it.name] {
			t.Errorf("two items are called %s", it.name)
		}
		seen[it.name] = true
		kinds[strings.TrimRight(strings.Fields(it.name)[0], ",")]++
		if it.seconds <= 0 || len(it.args) == 0 {
			t.Errorf("%s: %d s, %q", it.name, it.seconds, it.args)
		}
	}
	for _, kind := range []string{"conformance", "machine", "stutter", "fuzz", "foreign", "mutations", "soak", "requirements", "models", "tshark", "benchonce"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no item of the kind %s", kind)
		}
	}
	if kinds["mutations"] != faultParts || kinds["fuzz"] < 30 || kinds["soak"] != 4 {
		t.Errorf("the kinds are %v", kinds)
	}
}

// TestPartsOfAPackage: the parts of a divided package have all of its tests.
func TestPartsOfAPackage(t *testing.T) {
	t.Chdir("../..")
	packages, err := listTests(t.Context(), nil, nil, []string{"./extsock"})
	if err != nil {
		t.Fatal(err)
	}
	names, err := packages[0].functions()
	if err != nil || len(names) < 100 {
		t.Fatalf("%d tests, %v", len(names), err)
	}
	for parts := 1; parts < 10; parts++ {
		var all []string
		for _, own := range deal(names, parts) {
			all = append(all, own...)
		}
		slices.Sort(all)
		sorted := slices.Sorted(slices.Values(names))
		if !slices.Equal(all, sorted) {
			t.Errorf("%d parts have %d of %d tests", parts, len(all), len(names))
		}
	}
}
