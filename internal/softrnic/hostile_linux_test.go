//go:build amd64 || arm64

package softrnic

import (
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
)

const destroyQP = 27 // the command

// randomFrame returns a frame that a hostile peer's device may send, with its payload. Half of the
// frames are like those of an honest device.
func randomFrame(r *rand.Rand, key uint32) []byte {
	f := frame{
		kind: frameSend + frameType(r.UintN(uint(frameBye))), flags: frameFlags(r.UintN(knownFlags + 1)),
		status: uverbs.WCStatus(r.UintN(uint(uverbs.GeneralErr) + 1)), number: r.Uint32N(6), length: r.Uint32N(8),
		immediate: [4]byte{byte(key), byte(key >> 8), byte(key >> 16), byte(key >> 24)},
	}
	if r.UintN(4) > 0 { // these end the connection mostly
		f.flags &^= flagInvalidate
		f.kind = min(f.kind, frameAck)
	}
	if f.kind == frameAck && r.UintN(4) > 0 {
		f.number = 0
	}
	b := f.appendTo(nil)
	if f.kind == frameSend {
		b = append(b, make([]byte, f.length)...)
	}
	return b
}

// TestHostileFrames: whatever a peer's device sends, each work request of the program completes
// once when its queue pair has failed, and the device goes on.
func TestHostileFrames(t *testing.T) {
	r := prototest.Seeded(t)
	p := newProgram(t, newDevice(t))
	for range testmode.Rounds(200, 10) {
		q := p.qp(nil)
		const peer = 1 << 8 // a QPN lower than any other, so the peer dials
		if err := q.Join(p.gid, peer); err != nil {
			t.Fatal(err)
		}
		const receives, sends = 4, 3
		for id := range uint64(receives) {
			q.PostRecv(id, p.mr.Part(0, 16))
		}
		d := extsock.Dialer{Config: &extsock.Config{
			Messages: true, PrivateData: hello{kind: joining, from: peer, to: q.Num, gid: p.gid}.appendTo(nil), NoCapabilities: true, RecvDepth: 1000,
		}}
		c, err := d.DialDDP(t.Context(), "tcp", qpnAddress(p.gid, q.Num))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(iAmHere.appendTo(nil)); err != nil {
			t.Fatal(err)
		}
		p.linkOf(t, q)
		for id := range uint64(sends) {
			w := guest.WR{ID: receives + id, Op: []uint32{guest.OpSend, guest.OpRead, guest.OpWriteImm}[id], Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(64, 8)}}
			if err := q.Post(w); err != nil {
				t.Fatal(err)
			}
		}
		for range r.UintN(30) {
			if r.UintN(8) == 0 {
				w := rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 8), Remote: rdmap.Handle{STag: ddp.STag(p.mr.Key), TO: p.mr.Addr + 1024}}
				_ = c.Post(&w) // it fails if the connection has ended
			}
			_, _ = c.Write(randomFrame(r, p.mr.Key)) // the same
		}
		_ = c.Close()
		state := func() uint8 {
			s, err := q.State()
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if state() != guest.Err {
			if err := q.Modify(guest.Err, p.gid, peer, nil); err != nil {
				t.Fatal(err)
			}
		}
		seen := make(map[uint64]int)
		prototest.Wait(t, "all completions", func() bool {
			for w, ok := p.cq.Poll(); ok; w, ok = p.cq.Poll() {
				seen[w.ID]++
			}
			return len(seen) == receives+sends
		})
		for id, n := range seen {
			if n != 1 {
				t.Errorf("work request %d has %d completions", id, n)
			}
		}
		if t.Failed() {
			return
		}
		if _, err := p.Destroy(destroyQP, q.Handle); err != nil {
			t.Fatal(err)
		}
	}
}
