//go:build verbs && (amd64 || arm64)

package run

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/testkit/timeline"
)

// tracedPairs are programs whose traces and captures are looked at: what a trace has at least, by
// phase and name, and what a capture has.
var tracedPairs = []struct {
	face         string
	first, other string
	events       map[[2]string]int
	messages     map[string]int
}{
	{
		supervise, "ib_write_bw -p %d -n 200", "ib_write_bw -p %d -n 200 127.0.0.1",
		map[[2]string]int{{"B", "Write"}: 200, {"i", "RDMA_WRITE"}: 200, {"X", "RDMA Write"}: 400, {"X", "ibv_modify_qp"}: 5},
		map[string]int{"rdma-write": 400, "send": 8},
	},
	{
		supervise, "rping -s -V -C 10 -p %d", "rping -c -a 127.0.0.1 -V -C 10 -p %d",
		map[[2]string]int{{"B", "Send"}: 40, {"B", "receive"}: 40, {"B", "Read"}: 10, {"B", "Write"}: 10, {"X", "rdma_connect"}: 1, {"X", "rdma_get_cm_event"}: 6},
		map[string]int{"rdma-read-request": 20, "rdma-read-response": 20, "rdma-write": 20, "send": 80},
	},
	{
		superviseIWARP, "rping -s -V -C 10 -p %d", "rping -c -a 127.0.0.1 -V -C 10 -p %d",
		map[[2]string]int{{"B", "Send"}: 40, {"B", "receive"}: 40, {"B", "Read"}: 10, {"B", "Write"}: 10},
		map[string]int{"rdma-read-request": 20, "rdma-read-response": 20, "rdma-write": 20},
	},
	{
		supervise, "ib_send_bw -p %d -n 200 -s 8", "ib_send_bw -p %d -n 200 -s 8 127.0.0.1",
		map[[2]string]int{{"B", "Send"}: 200, {"B", "receive"}: 200}, map[string]int{"send": 400},
	},
	{
		supervise, "ib_atomic_bw -p %d -n 100", "ib_atomic_bw -p %d -n 100 127.0.0.1",
		map[[2]string]int{{"B", "FetchAdd"}: 100, {"X", "Atomic Request"}: 200}, map[string]int{"atomic-request": 200, "atomic-response": 200},
	},
	{
		supervise, "ibv_ud_pingpong -g 0 -p %d -n 100", "ibv_ud_pingpong -g 0 -p %d -n 100 127.0.0.1",
		map[[2]string]int{{"B", "Send"}: 200, {"B", "receive"}: 100}, nil,
	},
}

// TestTracedPrograms: the traces of programs can be read, together, and their captures have what
// the programs have said to each other.
func TestTracedPrograms(t *testing.T) {
	for _, tt := range tracedPairs {
		t.Run(fmt.Sprint(tt.face, " ", tt.other), func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(traceOfTest, dir)
			runProgramPair(t, tt.face, tt.first, tt.other)
			all := traces(t, dir)
			for want, n := range tt.events {
				if got := timeline.Count(all, want[0], want[1]); got < n {
					t.Errorf("%d events %s %q, want %d", got, want[0], want[1], n)
				}
			}
			messages := captured(t, dir)
			for op, n := range tt.messages {
				if messages[op] < n {
					t.Errorf("%d messages %s, want %d", messages[op], op, n)
				}
			}
			if whole, half := timeline.Arrows(all); len(tt.messages) > 0 && (whole == 0 || half > whole/10+4) {
				t.Errorf("%d arrows have both ends, %d have one", whole, half)
			}
		})
	}
}
