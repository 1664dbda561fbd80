//go:build amd64 || arm64

package softrnic

import (
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// TestPostedEarly: the device warns once about a queue pair whose program posts Sends before RTS.
// rxe refuses such a post, and carries it out later nevertheless.
func TestPostedEarly(t *testing.T) {
	states := []uint8{guest.Init, guest.RTR, guest.RTS}
	for _, tt := range []struct {
		desc   string
		before int // how many of the states the queue pair has had when the program posts
		post   func(*guest.QP, ...guest.WR) error
		want   int // warnings
	}{
		{"in RESET", 0, (*guest.QP).Post, 1},
		{"in INIT", 1, (*guest.QP).Post, 1},
		{"in RTR", 2, (*guest.QP).Post, 1},
		{"in RTS", 3, (*guest.QP).Post, 0},
		{"in RTR, with a doorbell that comes late", 2, (*guest.QP).Push, 1},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			d := newLogged(t)
			p := newProgram(t, d.Device)
			q := p.qp(nil)
			for i, s := range states {
				if i == tt.before {
					break
				}
				if err := q.Modify(s, p.gid, q.Num, nil); err != nil {
					t.Fatal(err)
				}
			}
			send := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 8)}}
			for range 2 {
				if err := tt.post(q, send); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range states[tt.before:] {
				if err := q.Modify(s, p.gid, q.Num, nil); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				q.PostRecv(9, p.mr.Part(4096, 8))
			}
			for _, w := range p.poll(4) {
				if w.Status != uint32(uverbs.Success) {
					t.Errorf("completion %d with %v", w.ID, uverbs.WCStatus(w.Status))
				}
			}
			if n := d.warnings(errEarly.Error()); n != tt.want {
				t.Errorf("%d warnings, want %d", n, tt.want)
			}
		})
	}
}
