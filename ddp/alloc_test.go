package ddp

import (
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// wantNoAllocs checks that f does not allocate after its first call.
func wantNoAllocs(t *testing.T, desc string, f func()) {
	t.Helper()
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	f()
	if n := testing.AllocsPerRun(200, f); n != 0 {
		t.Errorf("%s: %v allocations, want 0", desc, n)
	}
}

func TestAllocsSender(t *testing.T) {
	var s Sender
	data := make([]byte, 5000)
	r := register(t, new(Domain), data, RemoteRead, stream)
	messages := []Message{
		{Payload: [][]byte{data[:1], data[1:2000], data[2000:]}, Len: 5000},
		{Tagged: true, Payload: [][]byte{data}, Len: 5000},
		{Tagged: true, Source: r, SourceTO: r.TO(), Len: 5000},
		{},
	}
	wantNoAllocs(t, "Sender", func() {
		for i := range messages {
			for s.Start(&messages[i]); s.Next(1448); s.Release() {
				if len(s.Segment().Header) == 0 {
					t.Error("no header")
				}
			}
		}
	})
}

func TestAllocsReceiver(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 5000), RemoteWrite)
	w := write(r, 0, make([]byte, 5000))
	tagged := cut(&p.s, &w, 1448)
	buffer := make([]byte, 5000)
	u := UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1}
	untagged := append(u.AppendTo(nil), make([]byte, 1400)...)
	wantNoAllocs(t, "Place and Deliver", func() {
		for _, s := range tagged {
			p.place(s)
		}
		if err := post(p.queues[0], nil, buffer, 1); err != nil {
			t.Error(err)
		}
		u.AppendTo(untagged[:0])
		u.MSN++
		p.place(untagged)
		for range 2 {
			p.wantMessage("each")
		}
	})
	wantNoAllocs(t, "TryPlace", func() {
		for i := len(tagged) - 1; i >= 0; i-- {
			if !p.r.TryPlace(p.off+uint64(i)*2000, tagged[i]) {
				t.Error("not placed")
			}
		}
		p.off += 10000
		p.wantMessage("placed early")
	})
}

func TestAllocsLongPayload(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 60_000), RemoteWrite)
	w := write(r, 0, make([]byte, 60_000))
	segments := cut(&p.s, &w, 40_000)
	wantNoAllocs(t, "long payload", func() {
		for _, s := range segments {
			p.place(s)
		}
		p.wantMessage("each")
	})
}

func TestAllocsAtomics(t *testing.T) {
	mem := make([]byte, 16)
	r := register(t, new(Domain), mem, RemoteAtomic, stream)
	to := r.TO() + -misalignment(mem)&7
	add := func(v uint64) uint64 { return v + 1 }
	wantNoAllocs(t, "Check and Update64", func() {
		if _, err := r.domain.Check(r.STag(), to, 8, RemoteAtomic, stream); err != nil {
			t.Error(err)
		}
		if _, err := r.Update64(int(to-r.base), add); err != nil {
			t.Error(err)
		}
	})
}
