package kernel

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBeat: a row of reads starts the beat. It goes while reads come in each of its periods, and two periods longer at most. It
// never goes without a timer that is due within a period.
func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat()
		for range 2 {
			if b.goes() {
				t.Fatal("the beat goes before it is started")
			}
			for range 2 * beatRow {
				time.Sleep(beatSoon + 1)
				b.start()
			}
			for range beatRow - 1 {
				if b.goes() {
					t.Fatal("a few reads, or sparse ones, have started the beat")
				}
				time.Sleep(beatSoon)
				b.start()
			}
			for i := range 10 {
				for range 3 { // the periods begin anew while nobody looks
					b.start()
				}
				if !b.goes() {
					t.Fatalf("after %d periods the beat is silent", i)
				}
				time.Sleep(beatEvery)
				synctest.Wait()
			}
			if !b.timer.Stop() {
				t.Fatal("the beat goes, and its timer is not set")
			}
			b.timer.Reset(beatEvery)
			time.Sleep(2 * beatEvery)
			synctest.Wait()
			if b.timer.Stop() {
				t.Fatal("nobody has heard the beat for two periods, and its timer is set")
			}
		}
	})
}
