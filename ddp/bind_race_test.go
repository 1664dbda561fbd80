//go:build race

package ddp

import (
	"testing"

	"github.com/rddp/rddp/internal/locks"
)

// A message in a bound buffer takes no lock of its Queue, whether its segments arrive in order or
// early. Only race builds count locks.
func TestBindTakesNoLock(t *testing.T) {
	p := newPair(t)
	buffer := make([]byte, 100)
	m := send(buffer)
	before := locks.Counts()
	for range 100 {
		if !p.r.Bind(QNSend, buffer[:10], buffer[10:]) {
			t.Fatal("Bind = false")
		}
		ulpdus := cut(&p.s, &m, 18+60)
		if !p.r.TryPlace(p.off+fpduLen(ulpdus[0]), ulpdus[1]) {
			t.Fatal("not placed early")
		}
		p.place(ulpdus[0])
		p.off += fpduLen(ulpdus[1])
		p.wantMessage("bound")
	}
	if n := locks.Counts()["Queue"] - before["Queue"]; n != 0 {
		t.Errorf("%d locks of a Queue for 100 messages, want none", n)
	}
}
