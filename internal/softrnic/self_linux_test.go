//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// alone returns a program with a queue pair that is joined with itself.
func alone(t *testing.T, kind uverbs.QPType) (*program, *guest.QP) {
	t.Helper()
	p := newProgram(t, newDevice(t))
	q := p.qp(func(c *guest.QPConfig) { c.Type = uint8(kind) })
	if kind == uverbs.UC {
		joinUC(t, q, p.gid, q.Num)
	} else if err := q.Join(p.gid, q.Num); err != nil {
		t.Fatal(err)
	}
	return p, q
}

// wantAll checks completions of Sends and receives, which may come in any order.
func (p *program) wantAll(desc string, want map[uint64]uverbs.WCStatus) {
	p.t.Helper()
	for range len(want) {
		w := p.poll(1)[0]
		status, ok := want[w.ID]
		if delete(want, w.ID); !ok || w.Status != uint32(status) {
			p.t.Fatalf("%s: completion %d with %v, want %v", desc, w.ID, uverbs.WCStatus(w.Status), status)
		}
	}
}

// TestSelf checks each operation of a queue pair that is joined with itself, of all lengths.
func TestSelf(t *testing.T) {
	const to = memoryLen / 2
	for _, kind := range []uverbs.QPType{uverbs.RC, uverbs.UC} {
		p, q := alone(t, kind)
		for i, n := range sizes {
			for _, op := range []uint32{guest.OpWrite, guest.OpWriteImm, guest.OpSend, guest.OpSendImm, guest.OpRead} {
				if kind == uverbs.UC && op == guest.OpRead {
					continue
				}
				desc := fmt.Sprintf("%v, %d bytes, operation %d", kind, n, op)
				want := p.fill(0, n, byte(i)+byte(op))
				w := guest.WR{ID: 1, Op: op, Flags: guest.Signaled, Imm: 5, Remote: p.mr.Addr + to, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(0, n)}}
				completions := map[uint64]uverbs.WCStatus{1: uverbs.Success}
				switch op {
				case guest.OpRead:
					w.Remote, w.List = p.mr.Addr, []guest.SGE{p.mr.Part(to, n)}
				case guest.OpWriteImm, guest.OpSend, guest.OpSendImm:
					q.PostRecv(2, p.mr.Part(to, n))
					completions[2] = uverbs.Success
				}
				if err := q.Post(w); err != nil {
					t.Fatal(err)
				}
				p.wantAll(desc, completions)
				if !bytes.Equal(p.read(to, n), want) {
					t.Errorf("%s: wrong data", desc)
				}
			}
		}
		if kind == uverbs.UC {
			continue
		}
		for id, old := range []uint64{7, 12, 17} {
			if id == 0 {
				m, _ := self()
				if err := m.Write(binary.NativeEndian.AppendUint64(nil, old), p.mr.Addr+to); err != nil {
					t.Fatal(err)
				}
			}
			if err := q.Post(guest.WR{ID: 3, Op: guest.OpFetchAdd, Flags: guest.Signaled, Operand: 5, Remote: p.mr.Addr + to, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			p.want("an atomic", 3, uverbs.Success)
			if got := binary.NativeEndian.Uint64(p.read(0, 8)); got != old {
				t.Errorf("FetchAdd returns %d, want %d", got, old)
			}
		}
	}
}

// TestSelfDatagram checks a datagram of a queue pair to itself.
func TestSelfDatagram(t *testing.T) {
	const key = 7
	p := newProgram(t, newDevice(t))
	q := p.qp(func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) })
	if err := q.Enable(key); err != nil {
		t.Fatal(err)
	}
	q.PostRecv(1, p.mr.Part(0, 100))
	to := guest.To{QPN: q.Num, QKey: key, GID: p.gid}
	if err := q.Post(guest.WR{ID: 2, Op: guest.OpSend, Data: []byte("x"), Flags: guest.Inline | guest.Signaled, To: &to}); err != nil {
		t.Fatal(err)
	}
	p.wantAll("a datagram", map[uint64]uverbs.WCStatus{1: uverbs.Success, 2: uverbs.Success})
}

// TestSelfMany checks that many work requests of all kinds complete in order.
func TestSelfMany(t *testing.T) {
	p, q := alone(t, uverbs.RC)
	const n, receives = 1000, 1 << 32
	posted, recvs, next, received := 0, 0, uint64(0), uint64(receives)
	for next < n {
		for recvs < n && q.PostRecv(receives+uint64(recvs), p.mr.Part(0, 4096)) {
			recvs++
		}
		for posted < n && posted-int(next) < 60 {
			w := guest.WR{ID: uint64(posted), Flags: guest.Signaled, Remote: p.mr.Addr + 8192, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(16384, 1000)}}
			switch w.Op = []uint32{guest.OpSend, guest.OpWrite, guest.OpRead, guest.OpFetchAdd, guest.OpWriteImm}[posted%5]; w.Op {
			case guest.OpFetchAdd:
				w.List = []guest.SGE{p.mr.Part(16384, 8)}
			case guest.OpRead:
				w.List = []guest.SGE{p.mr.Part(65536, 300_000)}
			}
			if err := q.Post(w); err != nil {
				t.Fatal(err)
			}
			posted++
		}
		w := p.poll(1)[0]
		at := &next
		if w.ID >= receives {
			at = &received
		}
		if w.ID != *at || w.Status != uint32(uverbs.Success) {
			t.Fatalf("completion %d with %v, want %d", w.ID, uverbs.WCStatus(w.Status), *at)
		}
		*at++
	}
}

// TestSelfRefused checks that a refused work request has the error, that those in front of it are
// done, and that those behind it and the receives are flushed.
func TestSelfRefused(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.desc, func(t *testing.T) {
			p, q := alone(t, uverbs.RC)
			for id := range uint64(3) {
				q.PostRecv(50+id, p.mr.Part(1<<20, 8))
			}
			first := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 8)}}
			second := guest.WR{ID: 2, Op: guest.OpRead, Flags: guest.Signaled, Remote: p.mr.Addr, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(2<<20, 300_000)}}
			wrong := r.wr
			wrong.ID, wrong.Flags, wrong.Remote, wrong.Key, wrong.List = 3, guest.Signaled, p.mr.Addr, p.mr.Key+r.bad, []guest.SGE{p.mr.Part(0, r.n)}
			behind := first
			behind.ID = 4
			if err := q.Post(first, second, wrong, behind); err != nil {
				t.Fatal(err)
			}
			want := map[uint64]uverbs.WCStatus{1: uverbs.Success, 2: uverbs.Success, 3: r.want, 4: uverbs.FlushErr, 50: uverbs.Success, 51: uverbs.FlushErr, 52: uverbs.FlushErr}
			if r.want == uverbs.RemoteInvalidErr { // the receive has an error of its own
				want[51] = uverbs.LocalLengthErr
			} else if r.wr.Op == guest.OpSendInv {
				want[51] = uverbs.LocalAccessErr
			}
			var sent []uint64
			for _, w := range p.poll(len(want)) {
				if w.Status != uint32(want[w.ID]) {
					t.Errorf("completion %d with %v, want %v", w.ID, uverbs.WCStatus(w.Status), want[w.ID])
				}
				if w.ID < 50 {
					sent = append(sent, w.ID)
				}
			}
			if !slices.IsSorted(sent) {
				t.Errorf("completions in the order %v", sent)
			}
			if s, err := q.State(); s != guest.Err || err != nil {
				t.Errorf("state %d, %v", s, err)
			}
			if r.want == uverbs.RemoteAccessErr && r.wr.Op != guest.OpSendInv {
				p.dev.work.Wait() // the goroutines of the link have ended, and one of them has sent the event
				c := p.channels[0]
				c.mu.Lock()
				n := len(c.events)
				c.mu.Unlock()
				if n != 1 {
					t.Fatalf("%d events", n)
				}
				if e := uverbs.EventType(binary.LittleEndian.Uint32(c.next(t)[8:])); e != uverbs.EventQPAccess {
					t.Errorf("event %v, want %v", e, uverbs.EventQPAccess)
				}
			}
		})
	}
}

// TestSelfNotReady checks a Send for which the same program has no receive: it waits, or fails.
func TestSelfNotReady(t *testing.T) {
	p, q := alone(t, uverbs.RC) // it waits without end
	send := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 8)}}
	if err := q.Post(send); err != nil {
		t.Fatal(err)
	}
	p.linkOf(t, q)
	q.PostRecv(2, p.mr.Part(4096, 8))
	p.wantAll("a Send before its receive", map[uint64]uverbs.WCStatus{1: uverbs.Success, 2: uverbs.Success})

	q = p.qp(nil)
	for _, s := range []uint8{guest.Init, guest.RTR, guest.RTS} {
		if err := q.Modify(s, p.gid, q.Num, func(in []byte) { in[107] = 0 }); err != nil { // rnr_retry
			t.Fatal(err)
		}
	}
	if err := q.Post(send); err != nil {
		t.Fatal(err)
	}
	p.want("a Send without a receive", 1, uverbs.RNRRetryExceeded)
}

// TestSelfEnds checks RESET, another life, ERR and the end of a queue pair that is joined with
// itself, with work under way.
func TestSelfEnds(t *testing.T) {
	p, q := alone(t, uverbs.RC)
	send := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 8)}}
	for range 3 {
		if err := q.Post(send); err != nil { // it waits for a receive
			t.Fatal(err)
		}
		if err := q.Modify(guest.Reset, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
		if err := q.Join(p.gid, q.Num); err != nil {
			t.Fatal(err)
		}
	}
	q.PostRecv(2, p.mr.Part(4096, 8))
	if err := q.Post(send); err != nil {
		t.Fatal(err)
	}
	p.wantAll("a Send of a later life", map[uint64]uverbs.WCStatus{1: uverbs.Success, 2: uverbs.Success})
	if err := q.Post(send); err != nil {
		t.Fatal(err)
	}
	q.PostRecv(4, p.mr.Part(4096, 8)) // the Send may have got it when the state changes
	if err := q.Modify(guest.Err, p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range p.poll(2) {
		if s := uverbs.WCStatus(w.Status); s != uverbs.FlushErr && s != uverbs.Success {
			t.Errorf("completion %d with %v", w.ID, s)
		}
	}
	if err := cmp.Or(q.Modify(guest.Reset, p.gid, 0, nil), q.Join(p.gid, q.Num), q.Post(send)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Destroy(destroyQP, q.Handle); err != nil {
		t.Fatal(err)
	}
}

// TestSelfAddresses checks a queue pair that is joined with itself at another address of the
// device, and two queue pairs of one program at two addresses.
func TestSelfAddresses(t *testing.T) {
	d, err := New(Config{Addresses: []netip.Addr{localhost, elsewhere}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	p := newProgram(t, d)
	first, second := [16]byte(d.GIDs()[0]), [16]byte(d.GIDs()[1])
	join := func(q *guest.QP, from uint8, to [16]byte, qpn uint32) (err error) {
		for _, s := range []uint8{guest.Init, guest.RTR, guest.RTS} {
			err = errors.Join(err, q.Modify(s, to, qpn, func(in []byte) { in[24] = from }))
		}
		return err
	}
	one, a, b := p.qp(nil), p.qp(nil), p.qp(nil)
	if err := errors.Join(join(one, 0, second, one.Num), join(a, 1, first, b.Num), join(b, 0, second, a.Num)); err != nil {
		t.Fatal(err)
	}
	for _, q := range []*guest.QP{one, a, b} {
		if err := q.Post(guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: p.mr.Addr, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(4096, 8)}}); err != nil {
			t.Fatal(err)
		}
		p.want("a Write", 1, uverbs.Success)
	}
}

// TestSelfWindow checks a memory window of either type that a queue pair binds and uses itself.
func TestSelfWindow(t *testing.T) {
	for _, kind := range []uint32{1, 2} {
		p, q := alone(t, uverbs.RC)
		_, key, err := p.MW(p.pd, kind)
		if err != nil {
			t.Fatal(err)
		}
		bind := guest.Bind{MR: p.mr, Off: 64, Len: 64, Old: key, Key: key + 1, Access: guest.RemoteWrite}
		write := guest.WR{ID: 2, Op: guest.OpWrite, Flags: guest.Signaled, Remote: p.mr.Addr + 64, Key: key + 1, List: []guest.SGE{p.mr.Part(0, 64)}}
		if err := q.Post(guest.WR{ID: 1, Op: guest.OpBindMW, Flags: guest.Signaled, Bind: bind}, write); err != nil {
			t.Fatal(err)
		}
		p.want("bind", 1, uverbs.Success)
		p.want("a Write by the window", 2, uverbs.Success)
		if kind == 1 {
			continue
		}
		q.PostRecv(3, p.mr.Part(0, 8))
		if err := q.Post(guest.WR{ID: 4, Op: guest.OpSendInv, Flags: guest.Signaled, Key: key + 1}, write); err != nil {
			t.Fatal(err)
		}
		p.wantAll("after invalidation", map[uint64]uverbs.WCStatus{2: uverbs.RemoteAccessErr, 3: uverbs.Success, 4: uverbs.Success})
	}
}
