package testmode_test

import (
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestShare: the shares together are everything, and no two overlap.
func TestShare(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	for share, want := range map[string][]int{"": all, "1/1": all, "1/3": {0, 3, 6}, "2/3": {1, 4}, "3/3": {2, 5}, "9/9": nil} {
		t.Setenv("SHARE", share)
		if got := testmode.Share(t, all); !slices.Equal(got, want) {
			t.Errorf("SHARE=%s: %v, want %v", share, got, want)
		}
	}
}

// TestBadShare: an invalid share is an error and not an empty share.
func TestBadShare(t *testing.T) {
	for _, bad := range []string{"3", "0/4", "5/4", "-1/4", "1/x", "1/2/3"} {
		t.Setenv("SHARE", bad)
		fake := &fatal{TB: t}
		func() {
			defer func() { _ = recover() }()
			testmode.Share(fake, []int{1})
		}()
		if !fake.called {
			t.Errorf("SHARE=%s is taken", bad)
		}
	}
}

// A fatal records that Fatalf was called.
type fatal struct {
	testing.TB
	called bool
}

func (f *fatal) Helper() {}

func (f *fatal) Fatalf(string, ...any) {
	f.called = true
	panic(f)
}
