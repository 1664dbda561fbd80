package testmode

import (
	"fmt"
	"os"
	"testing"
)

// Share returns the part of all that the environment variable SHARE selects. SHARE=2/11 means every
// eleventh element, beginning with the second. Without the variable, Share returns all.
func Share[T any](t testing.TB, all []T) []T {
	t.Helper()
	s := os.Getenv("SHARE")
	if s == "" {
		return all
	}
	var index, of int
	if n, err := fmt.Sscanf(s+"\n", "%d/%d\n", &index, &of); n != 2 || err != nil || index < 1 || index > of {
		t.Fatalf("SHARE is %q, and should be as 2/11", s)
	}
	var own []T
	for i := index - 1; i < len(all); i += of {
		own = append(own, all[i])
	}
	return own
}
