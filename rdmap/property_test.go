package rdmap

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
	"pgregory.net/rapid"
)

// A ledger follows one side's requests: each accepted one has exactly one Completion, in posting
// order (a canceled one ahead of its turn), and the result of a successful one is correct.
type ledger struct {
	side   *side
	region *ddp.Region // the memory that the peer reads and writes
	nextID uint64
	open   []WorkRequest   // requests without their Completion, oldest first
	recvs  []uint64        // IDs of receives without their Completion, oldest first
	ahead  map[uint64]bool // IDs that Cancel was called with: they complete ahead of their turn
}

// take polls both queues and checks the Completions.
func (l *ledger) take(t *rapid.T) {
	for _, c := range done(l.side.sendCQ) {
		i := 0
		for ; i < len(l.open); i++ {
			wr := l.open[i]
			if wr.ID == c.ID {
				break
			}
			if !wr.Unsignaled && !l.ahead[c.ID] { // an Unsignaled request may have succeeded without a Completion
				t.Fatalf("%v completes before %v %d", c, wr.Op, wr.ID)
			}
		}
		if i == len(l.open) {
			t.Fatalf("%v was not posted, or has completed before", c)
		}
		if wr := l.open[i]; c.Op != wr.Op || c.Status == StatusOK && wr.Unsignaled {
			t.Fatalf("%v for a %v, unsignaled %t", c, wr.Op, wr.Unsignaled)
		}
		if l.ahead[c.ID] { // ahead of its turn: earlier requests are still open
			l.open = append(l.open[:i:i], l.open[i+1:]...)
		} else {
			l.open = l.open[i+1:]
		}
	}
	for _, c := range done(l.side.recvCQ) {
		if len(l.recvs) == 0 || l.recvs[0] != c.ID {
			t.Fatalf("receive %v, but the oldest posted is %+v", c, l.recvs)
		}
		l.recvs = l.recvs[1:]
	}
}

// settled checks that nothing is left open after the end.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func (l *ledger) settled(t *rapid.T) {
	l.take(t)
	for _, wr := range l.open {
		if !wr.Unsignaled {
			t.Errorf("%v %d has no Completion in %v", wr.Op, wr.ID, l.side.qp.now())
		}
	}
	for _, id := range l.recvs {
		t.Errorf("receive %d has no Completion in %v", id, l.side.qp.now())
	}
	if n := l.side.sendCQ.promised() + l.side.recvCQ.promised(); n != 0 {
		t.Errorf("%d completion queue entries stay reserved", n)
	}
	if n := regions(l.side.domain); n != 1 {
		t.Errorf("%d regions are registered, want the user's one", n)
	}
}

// post posts a random request.
func (l *ledger) post(t *rapid.T, peer *ledger) {
	l.nextID++
	n := rapid.SampledFrom([]int{0, 1, 8, 90, 300}).Draw(t, "n")
	wr := WorkRequest{
		ID: l.nextID, Op: WorkOp(rapid.IntRange(1, int(WorkImmediate)).Draw(t, "op")),
		Fence: rapid.IntRange(0, 9).Draw(t, "fence") == 0, Unsignaled: rapid.IntRange(0, 3).Draw(t, "unsignaled") == 0,
		Operand: 1, Remote: handle(peer.region),
	}
	switch {
	case wr.Op == WorkRead:
		wr.Data = make([]byte, n)
	case wr.Op <= WorkWrite:
		wr.Data = pattern(n, int(l.nextID))
		wr.Inline = rapid.Bool().Draw(t, "inline")
	}
	wr.Invalidate = 0xDEADBE00
	if wr.Op == WorkSend || wr.Op == WorkSendInvalidate || wr.Op == WorkImmediate {
		wr.Solicited = rapid.Bool().Draw(t, "solicited")
	}
	if wr.Op == WorkSendInvalidate && rapid.IntRange(0, 9).Draw(t, "bad STag") > 0 {
		return // these end the stream
	}
	if rapid.IntRange(0, 99).Draw(t, "bad target") == 0 {
		wr.Remote.TO += 1 << 20 // these too
	}
	if l.side.qp.PostSend(&wr) == nil {
		l.open = append(l.open, wr)
	}
}

func (l *ledger) postRecv(t *rapid.T) {
	l.nextID++
	n := rapid.SampledFrom([]int{300, 300, 300, 300, 300, 300, 0}).Draw(t, "n")
	if l.side.qp.PostRecv(RecvRequest{ID: l.nextID, Buf: make([]byte, n)}) == nil {
		l.recvs = append(l.recvs, l.nextID)
	}
}

func (l *ledger) cancel(t *rapid.T) {
	if len(l.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(l.open)-1).Draw(t, "which")
	if l.ahead == nil {
		l.ahead = map[uint64]bool{}
	}
	l.ahead[l.open[i].ID] = true
	l.side.qp.Cancel(l.side.sendCQ, l.open[i].ID)
	l.take(t)
}

// end ends the stream in a random way.
func (l *ledger) end(t *rapid.T) {
	q := l.side.qp
	switch rapid.SampledFrom([]string{"close", "fail", "abort", "peer closed", "crc"}).Draw(t, "how") {
	case "close":
		q.Close()
	case "fail":
		q.Fail(errTest)
	case "abort":
		q.Abort(errTest)
		l.side.unset = 0
	case "peer closed":
		q.PeerClosed(nil)
	case "crc":
		q.Fail(codedError{2, 0, 2})
	}
}

// Whatever happens, in whatever order, each accepted request has exactly one Completion.
func TestExactlyOneCompletion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newPair(silent{}, params{
			depth: rapid.IntRange(1, 8).Draw(t, "depth"), cqDepth: rapid.IntRange(1, 20).Draw(t, "cqDepth"),
			ord: rapid.IntRange(1, 4).Draw(t, "ord"), ird: 4, mulpdu: 80,
		})
		var sides [2]*ledger
		for i, s := range []*side{x.a, x.b} {
			r, _ := s.register(512, allAccess)
			sides[i] = &ledger{side: s, region: r}
			s.slow = true
			for range 8 {
				sides[i].postRecv(t)
			}
		}
		steps := rapid.IntRange(1, 150).Draw(t, "steps")
		for range steps {
			i := rapid.IntRange(0, 1).Draw(t, "side")
			l, peer := sides[i], sides[1-i]
			switch rapid.IntRange(0, 15).Draw(t, "step") {
			case 0, 1, 2, 3:
				l.post(t, peer)
			case 4, 5, 6:
				l.postRecv(t)
			case 7, 8:
				l.side.transmitOne()
			case 9, 10:
				l.side.sent()
			case 11, 12:
				l.side.receive()
			case 13:
				l.take(t)
			case 14:
				l.cancel(t)
			case 15:
				if rapid.IntRange(0, 20).Draw(t, "end") == 0 {
					l.end(t)
				}
			}
			if len(l.open) > 0 && l.side.qp.now() == stateClosed {
				l.settled(t)
			}
		}
		for i, l := range sides {
			if rapid.Bool().Draw(t, "run on") {
				x.run()
			}
			l.side.transmit()
			l.side.sent()
			l.side.qp.Abort(errTest)
			l.settled(t)
			sides[i].side.wire = nil
		}
	})
}

// silent is a testing.TB for sides inside of rapid.Check; its failures are bugs of the test.
type silent struct{ testing.TB }

func (silent) Helper()                           {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (silent) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// On a stream without errors every request succeeds, every octet arrives, and messages arrive in
// order.
func TestEverythingArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newPair(silent{}, params{
			ord: rapid.IntRange(1, 4).Draw(t, "ord"), ird: 4, mulpdu: rapid.IntRange(71, 400).Draw(t, "mulpdu"),
		})
		r, memory := x.b.register(256, allAccess)
		model := bytes.Clone(memory)
		var want [][]byte // payloads of the Sends
		var bufs [][]byte
		type read struct{ sink, want []byte }
		var reads []read
		n := rapid.IntRange(1, 40).Draw(t, "requests")
		for id := range n {
			off := rapid.IntRange(0, 200).Draw(t, "off")
			data := pattern(rapid.IntRange(0, 256-off).Draw(t, "n"), id)
			h, err := handle(r).Slice(int64(off), len(data))
			if err != nil {
				t.Fatal(err)
			}
			wr := WorkRequest{ID: uint64(id), Data: data, Remote: h}
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				wr.Op = WorkSend
				want = append(want, data)
				bufs = append(bufs, x.b.recv(uint64(id), 256))
			case 1:
				wr.Op, wr.Fence = WorkWrite, true // fenced, so that earlier Reads see the old data
				copy(model[off:], data)
			case 2:
				wr.Op, wr.Data = WorkRead, make([]byte, len(data))
				reads = append(reads, read{wr.Data, bytes.Clone(model[off : off+len(data)])})
			}
			if err := x.a.qp.PostSend(&wr); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "run") {
				x.run()
			}
		}
		x.run()
		all := done(x.a.sendCQ)
		if len(all) != n {
			t.Fatalf("%d completions, want %d", len(all), n)
		}
		for i, c := range all {
			if c.ID != uint64(i) || c.Status != StatusOK {
				t.Errorf("completion %d is %v", i, c)
			}
		}
		arrived := done(x.b.recvCQ)
		if len(arrived) != len(want) {
			t.Fatalf("%d receives, want %d", len(arrived), len(want))
		}
		for i, c := range arrived {
			if !bytes.Equal(bufs[i][:c.Len], want[i]) {
				t.Errorf("Send %d arrives changed", i)
			}
		}
		for i, rd := range reads {
			if !bytes.Equal(rd.sink, rd.want) {
				t.Errorf("Read %d does not return what was there", i)
			}
		}
		if !bytes.Equal(memory, model) {
			t.Error("memory differs from the model")
		}
	})
}
