package siw

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// unhex parses hexadecimal digits with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func zeros(n int) string { return strings.Repeat("00", n) }

var list = []uverbs.SGE{{Addr: 0x1000, Len: 5, LKey: 1}, {Addr: 0x2000, Len: 7, LKey: 2}}

const listed = `0010000000000000 05000000 01000000 0020000000000000 07000000 02000000`

// The entries are laid out as in the kernel's siw-abi.h.
func TestWorkRequests(t *testing.T) {
	write := &uverbs.SendWR{ID: 9, Op: uverbs.OpWrite, Addr: 0x3000, RKey: 4}
	for _, tt := range []struct {
		desc string
		wr   *uverbs.SendWR // nil is a receive
		list []uverbs.SGE
		want string
	}{
		{"Write", write, list, `0900000000000000 0500 02 00 04000000 0030000000000000` + listed + zeros(64)},
		{"fenced Send", &uverbs.SendWR{ID: 9, Op: uverbs.OpSend, Flags: uverbs.Fence}, nil, `0900000000000000 1500 00 03 00000000` + zeros(104)},
		{"solicited Send", &uverbs.SendWR{ID: 9, Op: uverbs.OpSend, Flags: uverbs.Solicited}, nil, `0900000000000000 0d00 00 03 00000000` + zeros(104)},
		{"Read", &uverbs.SendWR{ID: 9, Op: uverbs.OpRead, Addr: 0x3000, RKey: 4}, list[:1], `0900000000000000 0500 01 01 04000000 0030000000000000` + listed[:35] + zeros(80)},
		{"receive", nil, list, `0900000000000000 0100 02 00 ffffffff` + listed + zeros(64)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			want := unhex(t, tt.want)
			b := bytes.Repeat([]byte{0xff}, 2*len(want))
			clear(b[stateAt:][:4])
			clear(b[len(want)+stateAt:][:4])
			put := func() bool { return (&ReceiveQueue{queue{b: b, len: receiveLen, n: 2}}).Put(9, tt.list) }
			if tt.wr != nil {
				q := &SendQueue{queue{b: b, len: sendLen, n: 2}}
				put = func() bool { return q.Put(tt.wr, tt.list) }
			}
			if !put() || !bytes.Equal(b[:len(want)], want) {
				t.Errorf("%x\nwant %x", b[:len(want)], want)
			}
		})
	}
}

// A place becomes free only when the kernel clears the flags.
func TestQueueFull(t *testing.T) {
	b := make([]byte, 2*receiveLen)
	q := &ReceiveQueue{queue{b: b, len: receiveLen, n: 2}}
	for i, want := range []bool{true, true, false} {
		if got := q.Put(uint64(i), nil); got != want {
			t.Errorf("Put %d = %v", i, got)
		}
	}
	b[stateAt], b[stateAt+1] = 0, 0
	if !q.Put(3, nil) || q.Put(4, nil) {
		t.Error("not just one place was free")
	}
	if q.Put(5, make([]uverbs.SGE, MaxSegments+1)) {
		t.Error("an entry has room for too many segments")
	}
}

func TestCompletions(t *testing.T) {
	b := unhex(t, `0900000000000000 01 08 0000 07000000 0000000000000000 0300000000000000`+
		`0a00000000000000 01 01 0400 00000000 0000000000000000 0300000000000000`+
		`0b00000000000000 01 08 0a00 00000000 0000000000000000 0300000000000000`+
		`0c00000000000000 01 02 0000 00000000 0000000000000000 0300000000000000`)
	e := Extent{n: 4}
	if _, err := e.OpenCompletions(b); err == nil {
		t.Error("a completion queue without its control")
	}
	q, err := e.OpenCompletions(append(b, make([]byte, controlLen)...))
	if err != nil {
		t.Fatal(err)
	}
	if q.Arm(); *q.wake != 3 {
		t.Errorf("Arm sets %d, want 3", *q.wake)
	}
	for _, want := range []uverbs.WC{{ID: 9, Op: uverbs.WCRecv, Len: 7, QPN: 3}, {ID: 10, Op: uverbs.WCRead, Status: uverbs.FlushErr, QPN: 3}} {
		if got, ok, err := q.Take(); got != want || !ok || err != nil {
			t.Errorf("Take = %+v, %v, %v, want %+v", got, ok, err, want)
		}
	}
	for _, bad := range []string{"a status", "an operation"} {
		if got, _, err := q.Take(); err == nil {
			t.Errorf("Take = %+v, with %s that there is not", got, bad)
		}
	}
	if got, ok, err := q.Take(); ok || err != nil {
		t.Errorf("Take = %+v, %v, %v, of places that are free again", got, ok, err)
	}
}

func TestExtents(t *testing.T) {
	cq := unhex(t, `01000000 40000000 0010000000000000`)
	e, err := ParseCQ(cq, 33)
	if want := (uverbs.Mapping{Offset: 0x1000, Size: 64*32 + 8}); e.Mapping != want || err != nil {
		t.Errorf("ParseCQ = %+v, %v, want %+v", e, err, want)
	}
	if _, err := ParseCQ(cq, 65); err == nil {
		t.Error("fewer entries than were asked for")
	}
	qp := unhex(t, `01000000 04000000 08000000 00000000 0010000000000000 0020000000000000`)
	s, r, err := ParseQP(qp, 3, 8)
	if s.Mapping != (uverbs.Mapping{Offset: 0x1000, Size: 4 * 120}) || r.Mapping != (uverbs.Mapping{Offset: 0x2000, Size: 8 * 112}) || err != nil {
		t.Errorf("ParseQP = %+v, %+v, %v", s, r, err)
	}
	for n := range len(qp) {
		if _, _, err := ParseQP(qp[:n], 3, 8); err == nil {
			t.Errorf("%d bytes of an answer are enough", n)
		}
	}
	if _, err := s.OpenSend(make([]byte, 4*sendLen-1)); err == nil {
		t.Error("a queue longer than its memory")
	}
}

// FuzzAnswers: no answer makes a queue that is longer than its memory, and no contents of the
// kernel's memory make Take panic, or return a status or an operation that does not exist.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0}, make([]byte, 72))
	f.Fuzz(func(t *testing.T, answer, memory []byte) {
		_, _, _ = ParseQP(answer, 1, 1)
		e, err := ParseCQ(answer, 2)
		if err != nil {
			return
		}
		q, err := e.OpenCompletions(memory)
		if err != nil {
			return
		}
		q.Arm()
		for range 2 * min(e.n, 16) {
			if w, ok, err := q.Take(); err == nil && ok && !w.Status.Valid() {
				t.Errorf("%+v", w)
			}
		}
	})
}
