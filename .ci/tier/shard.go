package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An item is a part of the nightly tier that is never divided.
type item struct {
	step
	seconds int // estimated time on two CPUs; only the balance of the shards depends on it
}

// A shard is one of several parts of the whole.
type shard struct{ index, of int } // index from 1

// parseShard parses "3/60".
func parseShard(s string) (shard, error) {
	index, of, _ := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return shard{}, fmt.Errorf("%q should be as 3/60", s)
	}
	return shard{i, n}, nil
}

// divide distributes the items, the longest first, each to the shard with the least total time so
// far.
func divide(items []item, shards int) [][]item {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.name, b.name))
	})
	all, sums := make([][]item, shards), make([]int, shards)
	for _, it := range items {
		least := slices.Index(sums, slices.Min(sums))
		all[least] = append(all[least], it)
		sums[least] += it.seconds
	}
	return all
}

func total(items []item) (seconds int) {
	for _, it := range items {
		seconds += it.seconds
	}
	return seconds
}
