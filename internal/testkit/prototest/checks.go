package prototest

import (
	"flag"
	"fmt"
	"testing"
)

// Checks makes rapid.Check try n cases until the end of the test, unless its flag is set.
func Checks(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before != checks.DefValue {
		return
	}
	if err := checks.Value.Set(fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checks.Value.Set(before) })
}
