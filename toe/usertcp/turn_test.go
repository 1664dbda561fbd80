package usertcp

import (
	"testing"
	"testing/synctest"
)

// TestEndOfAWriteWakes checks that the end of a write wakes every goroutine that waits for it: a
// Write waits for its turn, and WaitWritable waits for the Write before it looks at TCP. Perhaps no
// event of TCP comes after that end.
func TestEndOfAWriteWakes(t *testing.T) {
	for _, test := range []struct {
		desc string
		wait func(c *Stream) error
	}{
		{"Write", func(c *Stream) error { return c.beginWrite(true) }},
		{"WaitWritable", (*Stream).awaitTurn},
	} {
		t.Run(test.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Stream{}
				c.readable.L, c.writable.L = &c.mu, &c.mu
				if err := c.beginWrite(true); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- test.wait(c) }()
				synctest.Wait()
				if len(done) > 0 {
					t.Fatal("it does not wait for the write under way")
				}
				c.endWrite(false)
				synctest.Wait()
				if len(done) == 0 {
					t.Error("it still waits after the write has ended")
					c.writable.Broadcast()
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
