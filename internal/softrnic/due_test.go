package softrnic

import (
	"testing"
	"time"
)

// TestDue: an acknowledgement waits for the answer of a program that has answered enough messages
// in a row, and for nothing else.
func TestDue(t *testing.T) {
	now := time.Now()
	var d due
	ask := func(desc string, idle, atOnce bool) {
		t.Helper()
		if got := d.ask(idle, now); got != atOnce {
			t.Errorf("%s: goes out at once %t, want %t", desc, got, atOnce)
		}
	}
	answer := func(desc string, inFront bool) {
		t.Helper()
		if got := d.answer(); got != inFront {
			t.Errorf("%s: goes out in front %t, want %t", desc, got, inFront)
		}
	}
	look := func(desc string, atOnce, again bool) {
		t.Helper()
		if a, b := d.look(now); a != atOnce || b != again {
			t.Errorf("%s: at once %t, again %t; want %t, %t", desc, a, b, atOnce, again)
		}
	}
	for range enoughFirst {
		ask("before there are enough answers", true, true)
		answer("it has gone out", false)
	}
	answer("a second message of the program", false)
	ask("after enough answers", true, false)
	look("too early", false, true)
	answer("the answer", true)
	look("nothing waits", false, false)
	ask("while this end waits for the peer", false, true)
	answer("it has gone out", false)
	ask("again", true, false)
	ask("two messages in a row", true, true)
	look("nothing waits", false, false)
	for _, n := range []int{enoughFirst, 2 * enoughFirst, 4 * enoughFirst} {
		d.answers, d.sent = 0, 1
		for range n - 1 {
			ask("until there are enough answers", true, true)
			answer("it has gone out", false)
		}
		ask("after enough answers", true, false)
		now = now.Add(answerTime)
		look("no answer in time", true, false)
		answer("too late", false)
	}
	d.answers, d.sent = 0, 1
	for range enoughFirst {
		answer("before the question is seen", false)
		ask("after the answer", true, true)
	}
	for range 20 {
		d.waits, d.since = true, now.Add(-answerTime)
		d.look(now)
	}
	if d.enough != enoughMost {
		t.Errorf("%d answers are enough, want at most %d", d.enough, enoughMost)
	}
}
