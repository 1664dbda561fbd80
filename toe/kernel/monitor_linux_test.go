package kernel

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBeat: a row of reads starts the beat. It runs only while reads come before its timer is due.
// While it runs and reads come often, the timer is never due within beatEvery.
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
				b.start()
				for range 3 {
					if !b.goes() {
						t.Fatalf("after %d periods the beat is silent", i)
					}
				}
				// Another read comes within beatLast, or at the end of it.
				time.Sleep([]time.Duration{beatEvery - 1, beatEvery, beatEvery + 1, beatLast - 1}[i%4])
				synctest.Wait()
			}
			if !b.goes() {
				t.Fatal("a read before the timer is due finds the beat silent")
			}
			time.Sleep(beatEvery)
			synctest.Wait()
			if !b.timer.Stop() {
				t.Fatal("the beat goes, and its timer was due within beatEvery of a read that has set it")
			}
			b.timer.Reset(beatLast - beatEvery)
			time.Sleep(beatLast - beatEvery)
			synctest.Wait()
			if b.timer.Stop() {
				t.Fatal("no read has come, and the timer is set")
			}
		}
	})
}

// TestBeatTicksLate: a timer that was due before a read has set it again does not end the beat.
func TestBeatTicksLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeat()
		for range beatRow {
			b.start()
		}
		time.Sleep(beatLast - 1)
		if !b.goes() {
			t.Fatal("the beat is silent before its timer is due")
		}
		b.tick()
		if !b.goes() || !b.timer.Stop() {
			t.Error("the beat has ended, or its timer is not set")
		}
	})
}
