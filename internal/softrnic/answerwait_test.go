package softrnic

import "testing"

// TestAnswerWait: the wait for answers that this end owes looks soon at first, then rarely, and it
// ends.
func TestAnswerWait(t *testing.T) {
	var w answerWait
	looks := 0
	for ; looks < 1000 && w.again(); looks++ {
		if looks == 0 && w.next != lookEvery {
			t.Errorf("the first look is after %v", w.next)
		}
	}
	if looks > 200 {
		t.Errorf("%d looks or more", looks)
	}
	if w.next != lookRarely || w.waited < Linger || w.waited > Linger+lookRarely {
		t.Errorf("the last look is %v after the one before, and the wait has ended after %v", w.next, w.waited)
	}
}
