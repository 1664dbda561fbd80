package bytestream

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
)

// TestAllocsPerMessage: short and long Writes, their messages and Completions, and the peer's
// answers allocate nothing.
func TestAllocsPerMessage(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	memory := make([]byte, 4000)
	for _, tt := range []struct {
		n      int
		copied bool
	}{{64, true}, {4000, true}, {4000, false}} {
		n := tt.n
		t.Run(fmt.Sprintf("%d, copied %t", n, tt.copied), func(t *testing.T) {
			s, r := NewSender(8, 1028, 8), NewReceiver(8)
			var wr rdmap.WorkRequest
			var done [8]rdmap.Completion
			credits := []byte{0, 0, 0, 0}
			once := func() {
				if tt.copied {
					s.Append(memory[:n], 8)
				} else {
					s.Post(memory[:n], 0)
				}
				k := 0
				for s.Next(&wr) {
					s.Posted()
					done[k] = rdmap.Completion{ID: wr.ID}
					k++
				}
				s.Completed(done[:k])
				if over, owns := s.Write(); !over || owns {
					t.Fatal("the Write is not over")
				}
				s.End()
				credits[3] = byte(k)
				r.GaveBack(s.GivenBack())
				a, err := r.Arrived(credits, memory[:10])
				if err != nil || s.Credit(a.Credits) != nil {
					t.Fatal(err)
				}
				s.Freed(1, 8, false)
			}
			for range 20 {
				once()
			}
			if n := testing.AllocsPerRun(500, once); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
