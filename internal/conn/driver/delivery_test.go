package driver

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// TestReaderWaitsForPlacement checks a reader whose deadline passes while DDP places a message in
// its memory. The reader gets that memory back only when the message has been placed or dropped.
// Otherwise bytes would arrive in memory that belongs to the program again.
func TestReaderWaitsForPlacement(t *testing.T) {
	for _, tt := range []struct {
		desc   string
		end    func(in *lockedDelivery)
		n      int
		served bool
	}{
		{"the message is placed", func(in *lockedDelivery) { in.acceptMessage(4, rdmap.Completion{Len: 4}) }, 4, true},
		{"the stream ends first", func(in *lockedDelivery) { in.unbind(true) }, 0, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newDelivery(6, 512)
				if found, _ := in.begin(make([]byte, 8), nil); found != waits {
					t.Fatalf("a Read of an empty inbox has found %d", found)
				}
				if _, _, answer := in.bind(make([]byte, 4), true); answer != bound || in.placingState() != placingDirect {
					t.Fatal("the message does not go to the reader's memory")
				}
				left := make(chan readResult, 1)
				go func() { left <- in.leave() }()
				synctest.Wait()
				select {
				case r := <-left:
					t.Fatalf("leave = %+v while a message is being placed", r)
				default:
				}
				tt.end(in)
				if r := <-left; r.n != tt.n || r.ok != tt.served {
					t.Errorf("leave = %+v, want %d, %t", r, tt.n, tt.served)
				}
			})
		})
	}
}

// placingState returns where the present message goes.
func (in *lockedDelivery) placingState() placingState {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.delivery.placing.state
}

// TestNotes: each Read gets the Completion of the message that it begins, even if another Read
// begins the next message before it returns, or Close is called while the message is being placed
// in its memory.
func TestNotes(t *testing.T) {
	in := newDelivery(8, 512)
	var notes [4]rdmap.Completion
	arrives := func(n int, last bool) {
		t.Helper()
		if _, _, answer := in.bind(make([]byte, n), true); answer != bound {
			t.Fatalf("a message of %d bytes gets no memory", n)
		}
		if last {
			in.close()
		}
		in.acceptMessage(n, rdmap.Completion{Len: uint32(n)})
	}
	arrives(1, false)
	arrives(2, false)
	p := make([]byte, 8)
	for n := range 2 {
		if found, taking := in.begin(p, &notes[n]); found != took || taking.n != n+1 {
			t.Fatalf("a Read finds %d with %d bytes", found, taking.n)
		}
	}
	for n := 2; n < 4; n++ {
		if found, _ := in.begin(p, &notes[n]); found != waits {
			t.Fatalf("a Read of an empty inbox finds %d", found)
		}
		arrives(n+1, n == 3)
		if r := in.leave(); r.n != n+1 {
			t.Fatalf("a Read gets %+v, want %d bytes", r, n+1)
		}
	}
	for n, note := range notes {
		if int(note.Len) != n+1 || note.Op != rdmap.WorkRecv {
			t.Errorf("Read %d gets %+v, want %d bytes", n, note, n+1)
		}
	}
}

// TestInvalidatedByAMessage: the STag that a message for Read invalidates is reported once, when it
// is invalid.
func TestInvalidatedByAMessage(t *testing.T) {
	m := newMachine(false)
	a, b := m.ends[0], m.ends[1]
	var reported []ddp.STag
	b.d.rx.invalidated = func(s ddp.STag) {
		reported = append(reported, s)
		if _, err := b.domain.Check(s, b.region.TO(), 1, ddp.RemoteWrite, 1); err == nil {
			t.Error("the STag is still valid")
		}
	}
	stag := b.region.STag()
	b.arrive(math.MaxInt)
	a.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("one")})
	a.post(rdmap.WorkRequest{Op: rdmap.WorkSendInvalidate, Data: []byte("two"), Invalidate: stag})
	a.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("three")})
	b.arrive(math.MaxInt)
	if len(reported) != 1 || reported[0] != stag {
		t.Errorf("reported %v, want %v", reported, stag)
	}
	for range 3 {
		b.beginRead(10, false)
	}
	if string(b.got) != "onetwothree" {
		t.Errorf("Reads get %q", b.got)
	}
	if err := m.end(); err != nil {
		t.Error(err)
	}
}

// newDelivery returns a lockedDelivery with room for depth messages of size bytes.
func newDelivery(depth, size int) *lockedDelivery {
	in := new(lockedDelivery)
	in.init(&ReceiveConfig{Depth: depth, Size: size})
	return in
}
