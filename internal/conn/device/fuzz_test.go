package device

import (
	"testing"

	"github.com/rddp/rddp/toe/rnic"
)

// FuzzMachine: whatever a peer sends, no buffer is lost and none is used twice.
func FuzzMachine(f *testing.F) {
	for _, s := range []string{
		"\x05\x00\x00\x00\x00x", "\x04\x00\x00\x00\x01\x05\x00\x00\x00\x00y\x04\x00\x01\x00\x00", "\x08\x01\x00\x00\x00\x00\x00\x10\x00\x04\x04\x00\x00\x00",
		"\x14\x02\x00\x00\x001234567812341234", "\x08\x03\x00\x00\x00\x00\x00\x00\x01", "\x00\x01\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		dials, e := newEnds(t)
		settle(dials, e)
		for len(script) > 0 && len(e.receives) > 0 && e.m.life != over {
			n := min(int(script[0]), len(script)-1)
			e.receive(script[1 : 1+n])
			script = script[1+n:]
			for e.post() || e.complete() {
			}
			used := map[int]bool{}
			for _, a := range e.receives {
				used[int(a.id)] = true
			}
			e.m.unread.All(func(buffer, _ int) { used[buffer] = true })
			if all := len(e.receives) + e.m.unread.Len(); e.m.life != over && (len(used) != small.receives || all != small.receives) {
				t.Fatalf("%d buffers in %d places, of %d", len(used), all, small.receives)
			}
			if n%5 == 0 {
				_, _, _ = e.m.read(make([]byte, n), nil) // it may find nothing
				for e.post() {
				}
			}
		}
		e.m.completed(&rnic.Completion{ID: 0, Op: rnic.OpReceive, Len: 513}, e.memory)
		if e.m.life != over {
			t.Error("a message that is longer than its buffer is believed")
		}
	})
}
