package main

import (
	"context"
	"slices"
	"testing"
)

// TestSharesAreEverything: each package is in exactly one share.
func TestSharesAreEverything(t *testing.T) {
	t.Chdir("../..")
	packages, err := listTests(context.Background(), nil, nil, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, p := range packages {
		words = append(words, p.ImportPath)
	}
	if all, err := shareOf("", words); err != nil || !slices.Equal(all, words) {
		t.Errorf("without a share: %v, %v", all, err)
	}
	var seen []string
	for _, share := range []string{"1/3", "2/3", "3/3"} {
		own, err := shareOf(share, words)
		if err != nil {
			t.Fatal(err)
		}
		if len(own) < len(words)/10 || !slices.IsSorted(own) {
			t.Errorf("share %s has %v", share, own)
		}
		seen = append(seen, own...)
	}
	slices.Sort(seen)
	if !slices.Equal(seen, words) {
		t.Errorf("the shares have %v, want %v", seen, words)
	}
	if _, err := shareOf("4/3", words); err == nil {
		t.Error("4/3 is taken")
	}
}
