//go:build amd64 || arm64

package where

import (
	"os"
	"testing"
	"testing/synctest"
)

// TestOpenInTime: a file system that does not answer holds nobody up, and a file that is opened
// later is closed.
func TestOpenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if got := inTime(func() *os.File { return f }); got != f {
			t.Errorf("the file is %v", got)
		}
		if got := inTime(func() *os.File { return nil }); got != nil {
			t.Errorf("the file is %v", got)
		}
		answer := make(chan struct{})
		if got := inTime(func() *os.File { <-answer; return f }); got != nil {
			t.Errorf("the file is %v", got)
		}
		close(answer)
		synctest.Wait()
		if f.Close() == nil {
			t.Error("the file was not closed")
		}
	})
}
