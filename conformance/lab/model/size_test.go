package main

import "testing"

func TestSizeText(t *testing.T) {
	for n, want := range map[int]string{1: "1 B", 1000: "1000 B", 1 << 10: "1 KiB", 1536: "1536 B", 3 << 20: "3 MiB", 1<<20 + 1<<10: "1025 KiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("sizeText(%d) = %s, want %s", n, got, want)
		}
	}
}
