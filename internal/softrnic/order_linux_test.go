//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestReadAfterSend: a Read or atomic that is posted behind a Send finds the data of the Send, as
// over InfiniBand.
func TestReadAfterSend(t *testing.T) {
	a, b, qa, qb := pair(t)
	for i := range 100 {
		want := a.fill(0, 64, byte(i))
		qb.PostRecv(9, b.mr.Part(0, 64))
		if err := qa.Post(
			guest.WR{ID: 1, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 64)}},
			guest.WR{ID: 2, Op: guest.OpRead, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(4096, 64)}}); err != nil {
			t.Fatal(err)
		}
		a.want("the Read", 2, uverbs.Success)
		b.want("the receive", 9, uverbs.Success)
		if !bytes.Equal(a.read(4096, 64), want) {
			t.Fatalf("Read %d has got what was there before the Send", i)
		}
	}
}

// TestFence: the payload of a fenced work request is what a Read or an atomic in front of it has
// brought.
func TestFence(t *testing.T) {
	for _, plain := range []bool{false, true} {
		for _, reads := range []uint32{guest.OpRead, guest.OpFetchAdd} {
			if plain && reads == guest.OpFetchAdd {
				continue // RFC 5040 has no atomics
			}
			for _, then := range []uint32{guest.OpSend, guest.OpWrite} {
				t.Run(fmt.Sprint("plain ", plain, ", operation ", reads, ", then ", then), func(t *testing.T) {
					a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
					qa, qb := a.qp(nil), b.qp(nil)
					if !plain {
						joinPair(t, a, b, qa, qb)
					} else if pa := a.pairOf(t, qa); pa != nil {
						c := b.connectPlain(t, qb, pa.Config(Plain, 1, 1))
						if err := pa.Start(c, Plain, true, 0, nil, func() {}); err != nil {
							t.Fatal(err)
						}
					}
					for i := range 50 {
						want := b.fill(0, 8, byte(i))
						a.fill(64, 8, 99)
						if then == guest.OpSend {
							qb.PostRecv(8, b.mr.Part(64, 8))
						}
						qb.PostRecv(9, b.mr.Part(128, 8))
						list := []guest.SGE{a.mr.Part(64, 8)}
						if err := qa.Post(
							guest.WR{ID: 1, Op: reads, Remote: b.mr.Addr, Key: b.mr.Key, List: list},
							guest.WR{ID: 2, Op: then, Flags: guest.Fence, Remote: b.mr.Addr + 64, Key: b.mr.Key, List: list},
							guest.WR{ID: 3, Op: guest.OpSend, Flags: guest.Signaled, List: list[:0]}); err != nil {
							t.Fatal(err)
						}
						a.want("the last Send", 3, uverbs.Success)
						if then == guest.OpSend {
							b.want("the fenced Send", 8, uverbs.Success)
						}
						b.want("the last receive", 9, uverbs.Success)
						if !bytes.Equal(b.read(64, 8), want) {
							t.Fatalf("the fenced work request %d has left before the answer came", i)
						}
					}
				})
			}
		}
	}
}

// TestReadAfterImmediate: a Read or atomic behind immediate data, for which the peer has no
// receive, does not begin before the peer's program has posted one. Until then, the program may
// change the memory.
func TestReadAfterImmediate(t *testing.T) {
	for _, op := range []uint32{guest.OpRead, guest.OpFetchAdd} {
		a, b, qa, qb := pair(t)
		la, lb := a.linkOf(t, qa), b.linkOf(t, qb)
		data := []guest.SGE{a.mr.Part(4096, 8)}
		if err := qa.Post(
			guest.WR{ID: 1, Op: guest.OpWriteImm, Flags: guest.Signaled, Remote: b.mr.Addr + 64, Key: b.mr.Key, List: data},
			guest.WR{ID: 2, Op: op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, Operand: 1, List: data}); err != nil {
			t.Fatal(err)
		}
		prototest.Wait(t, "the immediate data", func() bool {
			lb.q.recvMu.Lock()
			defer lb.q.recvMu.Unlock()
			return len(lb.receiver.in.held) > 0 // +checklocksignore: the link's queue pair is locked
		})
		a.dev.find(qa.Num).look() // after the goroutine that has sent the immediate data
		la.q.mu.Lock()
		begun := len(la.out.flights) != 2 || la.out.flights[1].posted
		la.q.mu.Unlock()
		if begun {
			t.Fatalf("operation %d begins before the immediate data in front of it has its receive", op)
		}
		want := b.fill(0, 8, byte(op))
		qb.PostRecv(9, b.mr.Part(0, 0))
		a.want("the Write with immediate data", 1, uverbs.Success)
		a.want("what is behind it", 2, uverbs.Success)
		if !bytes.Equal(a.read(4096, 8), want) {
			t.Errorf("operation %d has got what was there before the receive", op)
		}
	}
}

// TestWriteAfterSend: if a Write follows a Send to the same memory, its data replaces that of the
// Send, and does not arrive before the receive has completed.
func TestWriteAfterSend(t *testing.T) {
	a, b, qa, qb := pair(t)
	a.fill(0, 64, 1)
	want := a.fill(64, 64, 2)
	send := guest.WR{ID: 1, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 64)}}
	write := guest.WR{ID: 2, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(64, 64)}}
	for i := range 100 {
		if err := qa.Post(send, write); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // the Send waits for a receive, and so does the Write
			if err := qb.Post(guest.WR{ID: 3, Op: guest.OpWrite, Flags: guest.Signaled, Remote: a.mr.Addr + 4096, Key: a.mr.Key, List: []guest.SGE{b.mr.Part(4096, 8)}}); err != nil {
				t.Fatal(err)
			}
			b.want("a Write of the other program", 3, uverbs.Success)
			if bytes.Equal(b.read(0, 64), want) {
				t.Fatal("the Write has overtaken the Send")
			}
		}
		qb.PostRecv(9, b.mr.Part(0, 64))
		a.want("the Write", 2, uverbs.Success)
		b.want("the receive", 9, uverbs.Success)
		if !bytes.Equal(b.read(0, 64), want) {
			t.Fatalf("Send %d is in the place of the Write behind it", i)
		}
	}
}

// TestRefusedBehindOthers: a work request that the peer refuses has the error itself, and those
// before it, which the peer has carried out, succeed.
func TestRefusedBehindOthers(t *testing.T) {
	for _, tt := range []struct {
		desc   string
		before uint32
		op     uint32
	}{
		{"a Read behind a Send", guest.OpSend, guest.OpRead},
		{"a Read behind a Write", guest.OpWrite, guest.OpRead},
		{"a Read behind a Write with immediate data", guest.OpWriteImm, guest.OpRead},
		{"a Write behind a Write", guest.OpWrite, guest.OpWrite},
		{"a Write behind a Send", guest.OpSend, guest.OpWrite},
		{"a Write with immediate data behind a Write", guest.OpWrite, guest.OpWriteImm},
		{"an atomic behind a Send", guest.OpSend, guest.OpFetchAdd},
		{"an atomic behind a Write", guest.OpWrite, guest.OpCmpSwap},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, b, qa, qb := pair(t)
			qb.PostRecv(9, b.mr.Part(0, 8))
			qb.PostRecv(10, b.mr.Part(0, 8))
			data := []guest.SGE{a.mr.Part(0, 8)}
			if err := qa.Post(
				guest.WR{ID: 1, Op: tt.before, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: data},
				guest.WR{ID: 2, Op: tt.before, Remote: b.mr.Addr, Key: b.mr.Key, List: data},
				guest.WR{ID: 3, Op: tt.op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key + 1, List: data},
				guest.WR{ID: 4, Op: guest.OpSend, Flags: guest.Signaled, List: data}); err != nil {
				t.Fatal(err)
			}
			a.want("what comes first", 1, uverbs.Success)
			a.want("what is refused", 3, uverbs.RemoteAccessErr)
			a.want("what comes behind it", 4, uverbs.FlushErr)
		})
	}
}

// TestWrongBehindUnsignaled: a work request that is wrong here completes, although the program
// waits for none of those in front of it.
func TestWrongBehindUnsignaled(t *testing.T) {
	for _, before := range []uint32{guest.OpSend, guest.OpWrite} {
		for _, tt := range []struct {
			desc  string
			wrong guest.WR
			want  uverbs.WCStatus
		}{
			{"memory", guest.WR{Op: guest.OpSend}, uverbs.LocalProtErr},
			{"memory, signaled", guest.WR{Op: guest.OpWrite, Flags: guest.Signaled}, uverbs.LocalProtErr},
			{"length", guest.WR{Op: guest.OpFetchAdd, Flags: guest.Signaled}, uverbs.LocalLengthErr},
			{"window", guest.WR{Op: guest.OpBindMW}, uverbs.MWBindErr},
		} {
			t.Run(fmt.Sprint(tt.desc, " behind ", before), func(t *testing.T) {
				a, b, qa, qb := pair(t)
				a.linkOf(t, qa)
				qb.PostRecv(9, b.mr.Part(0, 8))
				w := tt.wrong
				w.ID, w.Remote, w.Key = 2, b.mr.Addr, b.mr.Key
				switch tt.want {
				case uverbs.LocalProtErr:
					w.List = []guest.SGE{{Addr: a.mr.Addr, Len: 8, Key: a.mr.Key + 1}}
				case uverbs.LocalLengthErr:
					w.List = []guest.SGE{a.mr.Part(0, 4)}
				}
				first := guest.WR{ID: 1, Op: before, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}
				if err := qa.Post(first, w); err != nil {
					t.Fatal(err)
				}
				q := a.dev.find(qa.Num)
				q.look()
				q.sendMu.Lock()
				asked := q.sender.flights == 0 && q.sender.frames == 0
				q.sendMu.Unlock()
				if !asked {
					t.Fatal("nobody asks whether the peer has what is in front")
				}
				a.want("the wrong one", 2, tt.want)
			})
		}
	}
}

// TestDoneBeforeNotReady: work requests that the peer has carried out complete, although a Send
// behind them finds no receive. Only that Send waits, and fails when the retries are over.
func TestDoneBeforeNotReady(t *testing.T) {
	const waits, fails = true, false
	for _, tt := range []struct {
		desc  string
		op    uint32
		n     int // bytes of the Send
		waits bool
	}{
		{"a Send behind a Send", guest.OpSend, 8, fails},
		{"a Send behind a Write", guest.OpWrite, 8, fails},
		{"two pieces behind a Write", guest.OpWrite, maxPiece + 8, fails},
		{"a Send behind a Send, which waits", guest.OpSend, 8, waits},
		{"a Send behind a Write, which waits", guest.OpWrite, 8, waits},
		{"two pieces behind a Write, which wait", guest.OpWrite, maxPiece + 8, waits},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, b, qa, qb := pair(t)
			la, lb := a.linkOf(t, qa), b.linkOf(t, qb)
			retries, timer, want := uint8(0), uint8(1), uverbs.RNRRetryExceeded
			if tt.waits {
				a.dev.rnrTick *= 10
				retries, timer, want = 6, 0, uverbs.Success // 46 s: see TestLateReceive
			}
			la.q.mu.Lock()
			la.q.life.attrs.RNRRetry = retries
			la.q.mu.Unlock()
			lb.q.mu.Lock()
			lb.q.life.attrs.MinRNRTimer = timer
			lb.q.mu.Unlock()
			if tt.op == guest.OpSend {
				qb.PostRecv(9, b.mr.Part(0, 8))
			}
			if err := qa.Post(
				guest.WR{ID: 1, Op: tt.op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}},
				guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, tt.n)}}); err != nil {
				t.Fatal(err)
			}
			if tt.waits {
				prototest.Wait(t, "the news that there is no receive", func() bool {
					la.q.mu.Lock()
					defer la.q.mu.Unlock()
					return la.q.agenda.has(alarmNotReady)
				})
				if !la.isAlone(2) {
					t.Error("what comes first is not done")
				}
				qb.PostRecv(10, b.mr.Part(0, 2*maxPiece))
			}
			a.want("what comes first", 1, uverbs.Success)
			a.want("the Send", 2, want)
		})
	}
}

// TestRefusedPiece: if the peer refuses a Send before it has received all of it, that Send fails,
// and not a Write in front of it.
func TestRefusedPiece(t *testing.T) {
	a, b, qa, qb := pair(t)
	qb.PostRecv(9, b.mr.Part(0, 8))
	if err := qa.Post(
		guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}},
		guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 3*maxPiece)}}); err != nil {
		t.Fatal(err)
	}
	a.want("the Write", 1, uverbs.Success)
	a.want("the Send", 2, uverbs.RemoteInvalidErr)
}

// TestDrained: in SQD a Send that has begun goes on, and the next one does not begin. The program
// gets an event at the end of the first one, if it has asked for it.
func TestDrained(t *testing.T) {
	a, b, qa, qb := pair(t)
	l := a.linkOf(t, qa)
	const n = (window + 1) * maxPiece // so the last piece waits until the peer has a receive
	send := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, n)}}
	if err := qa.Post(send, guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "a full window", func() bool {
		l.q.mu.Lock()
		defer l.q.mu.Unlock()
		return !l.out.mayNumber()
	})
	draining := func() (is bool) {
		l.q.mu.Lock()
		defer l.q.mu.Unlock()
		return l.q.life.attrs.Draining
	}
	toSQDWith := func(notify bool) {
		t.Helper()
		if err := qa.Modify(guest.SQD, b.gid, qb.Num, func(in []byte) {
			if notify {
				in[68], in[100] = in[68]|1<<2, 1
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	toSQD := func() {
		t.Helper()
		toSQDWith(true)
	}
	toRTS := func() {
		t.Helper()
		if err := qa.Modify(guest.RTS, b.gid, qb.Num, func(in []byte) { in[68], in[69], in[70] = 1, 0, 0 }); err != nil {
			t.Fatal(err)
		}
	}
	event := func() {
		t.Helper()
		e := uverbs.EventType(binary.LittleEndian.Uint32(a.channels[0].next(t)[8:]))
		if e != uverbs.EventSQDrained || draining() {
			t.Errorf("event %d, draining: %v, want %d", e, draining(), uverbs.EventSQDrained)
		}
	}
	toSQD()
	if !draining() {
		t.Error("a Send is on its way, and the queue is not draining")
	}
	toRTS() // the event belongs to this stay in SQD only
	toSQDWith(false)
	l.q.mu.Lock()
	if l.q.life.attrs.SQDNotify {
		t.Error("the event is still wanted")
	}
	l.q.mu.Unlock()
	toRTS()
	toSQD()
	qb.PostRecv(1, b.mr.Part(0, n))
	qb.PostRecv(2, b.mr.Part(0, 8))
	a.want("the Send that had begun", 1, uverbs.Success)
	event()
	if l.q.sq.Len() != 1 {
		t.Fatal("a Send has begun in SQD")
	}
	toRTS()
	a.want("the Send that had not", 2, uverbs.Success)
	toSQD() // with nothing on its way
	event()
	toRTS()
	if err := qa.Post(guest.WR{ID: 3, Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "a Write whose completion the program does not want", func() bool { return !l.isIdle() })
	toSQD()
	event()
}

// isAlone reports whether the work request with an ID is the only one on its way.
func (l *link) isAlone(id uint64) bool {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	return len(l.out.flights) == 1 && l.out.flights[0].id == id
}
