package hostile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/usertcp"
)

// A poisoner makes early runs of garbage: their bytes differ from those that come in order.
type poisoner struct {
	random *rand.Rand
	real   []byte // the run that was shown last
	off    uint64
	fresh  bool
	shown  *atomic.Uint64
}

// early keeps a run that the Stream has shown.
func (p *poisoner) early(run []byte, off uint64) {
	p.real, p.off, p.fresh = append(p.real[:0], run...), off, true
}

// hint returns garbage after each real run, and sometimes at other times; otherwise it returns
// nothing.
func (p *poisoner) hint(next uint64) (run []byte, off uint64) {
	if len(p.real) == 0 || !p.fresh && p.random.IntN(8) > 0 {
		return nil, 0
	}
	p.fresh = false
	ahead := next + 1 + uint64(p.random.IntN(8000))
	run = bytes.Clone(p.real)
	switch p.random.IntN(5) {
	case 0: // a real run with a wrong bit, at its place
		off = p.off
		run[p.random.IntN(len(run))] ^= 1 << p.random.IntN(8)
	case 1: // a real run at another place
		off = p.off + 1 + uint64(p.random.IntN(511))
	case 2:
		off = ahead
		for i := range run {
			run[i] = byte(p.random.Uint32())
		}
	case 3: // an FPDU that a Marker points to, with a wrong CRC
		off = (ahead + 511) &^ 511
		run = append(make([]byte, 4), run...)
		binary.BigEndian.PutUint16(run[4:], uint16(len(run)/2))
	case 4: // the end of a real run, and garbage after it
		cut := p.random.IntN(len(run))
		off = p.off + uint64(cut)
		run = append(run[cut:], make([]byte, 1+p.random.IntN(1000))...)
	}
	if off <= next {
		return nil, 0
	}
	p.shown.Add(1)
	return run, off
}

// TestGarbageShownEarly: runs of garbage come early, unaligned, and overlap the bytes in order.
// Each FPDU in them fails its check. That does no harm: all data arrive, and the stream survives,
// for 1,000 seeds; without the tag conformance for 10.
func TestGarbageShownEarly(t *testing.T) {
	var garbage, placed atomic.Uint64
	seeds := testmode.Cases(1000)
	prototest.EachSeed(t, seeds, testmode.Count(100, 20), func(t *testing.T, seed uint64) {
		const rounds, length = 4, 12_000
		random := rand.New(rand.NewPCG(seed, 5))
		a, b := badUserStreams(t, seed, badlink.Faults{Loss: 0.02, Duplicate: 0.01, Split: 0.3, Merge: 0.2, Reorder: 0.25})
		p := &poisoner{random: random, shown: &garbage}
		w := &watched{Stream: a, early: p.early, hint: p.hint}
		ci, cr := ddpOver(t, w, b, extsock.Config{Markers: true}, extsock.Config{MaxFPDU: 200 + random.IntN(1200)})
		sink := make([]byte, rounds*length)
		region, err := ci.Register(sink, ddp.RemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 2*rounds*length)
		for i := range data {
			data[i] = 0x80 | byte(random.Uint32()) // elsewhere in the stream it is not a Marker that points to an FPDU
		}
		wrote := make(chan error, 1)
		go func() { wrote <- writeAndSend(cr, region.Handle(), data, length) }()
		got := make([]byte, rounds*length)
		readThrough(t, ci, cr, got)
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		wantRounds(t, data, sink, got, length)
		placed.Add(ci.Stats().EarlyFPDUs)
	})
	t.Logf("%d seeds: %d runs of garbage, %d FPDUs placed early, 0 wrong bytes, 0 streams lost", seeds, garbage.Load(), placed.Load())
	if garbage.Load() == 0 || placed.Load() == 0 {
		t.Error("too little came early")
	}
}

// wantRounds checks that sink and stream have the data that writeAndSend has sent.
func wantRounds(t *testing.T, data, sink, stream []byte, length int) {
	t.Helper()
	for at := 0; at < len(sink); at += length {
		if !bytes.Equal(sink[at:at+length], data[2*at:2*at+length]) {
			t.Fatalf("the Region has other bytes at %d than were sent", at)
		}
		if !bytes.Equal(stream[at:at+length], data[2*at+length:2*at+2*length]) {
			t.Fatalf("the byte stream has other bytes at %d than were sent", at)
		}
	}
}

// TestGarbageHeldByTCP: garbage comes behind a gap, with valid checksums, before or after the data
// at its place. TCP queues it and may deliver it in order. Then an FPDU fails its check, unless it
// was verified when it came early: in that case the first valid bytes count. No byte of garbage is
// ever placed.
func TestGarbageHeldByTCP(t *testing.T) {
	for _, tt := range []struct {
		desc     string
		from, to float64 // the place of the garbage, in segments; the gap is segment 0
		later    bool    // it comes after the data
		without  bool    // the stream survives without early placement
		with     bool    // the stream survives with early placement
	}{
		{desc: "inside the gap", from: 0.3, to: 0.6, without: true, with: true},
		{desc: "from inside the gap to the segment behind it", from: 0.3, to: 1.5, without: false, with: true},
		{desc: "inside a segment", from: 2.3, to: 2.6, without: true, with: true},
		{desc: "inside a segment, later", from: 2.3, to: 2.6, later: true, without: true, with: true},
		{desc: "the end of a segment and the beginning of the next", from: 2.5, to: 3.5, without: false, with: true},
		{desc: "the end of a segment and the beginning of the next, later", from: 2.5, to: 3.5, later: true, without: false, with: true},
		{desc: "a whole segment", from: 2, to: 3, without: false, with: false},
		{desc: "a whole segment, later", from: 2, to: 3, later: true, without: true, with: true},
		{desc: "a segment and a half", from: 2, to: 3.5, without: false, with: false},
	} {
		for _, early := range []bool{false, true} {
			survives := tt.without
			if early {
				survives = tt.with
			}
			t.Run(fmt.Sprintf("%s, early placement %t", tt.desc, early), func(t *testing.T) {
				heldGarbage(t, early, survives, func(segments [][]byte) (packets [][]byte) {
					at := func(n float64) uint32 {
						p := segments[min(int(n), len(segments)-1)]
						return sequenceOf(p) + uint32((n-float64(int(n)))*float64(len(payloadOf(p))))
					}
					garbage := segmentLike(segments[1], at(tt.from), bytes.Repeat([]byte("garbage"), 1000)[:at(tt.to)-at(tt.from)])
					if tt.later {
						return append(slices.Clone(segments[1:]), garbage)
					}
					return append([][]byte{garbage}, segments[1:]...)
				})
			})
		}
	}
}

// heldGarbage sends an RDMA Write of eight segments and then a byte. It holds the segments back,
// sends the packets that order makes from them, and then the first segment.
func heldGarbage(t *testing.T, early, survives bool, order func(segments [][]byte) (packets [][]byte)) {
	const segments, length = 8, 900
	x, y := usertcp.Pipe(1500)
	link := &relay{Link: y}
	a, b := userStreams(t, x, link, usertcp.Config{})
	ci, cr := ddpOver(t, a, b, extsock.Config{Markers: true, NoEarlyPlacement: !early}, extsock.Config{MaxFPDU: length})
	sink, data := make([]byte, segments*(length-100)), prototest.Pattern(segments*(length-100), 5)
	region, err := ci.Register(sink, ddp.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	// A Stream shows early runs only after the first read.
	one := make([]byte, 1)
	if _, err := cr.Write(one); err != nil {
		t.Fatal(err)
	}
	if _, err := ci.Read(one); err != nil {
		t.Fatal(err)
	}
	link.hold()
	if err := cr.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: region.Handle()}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the Write is sent", func() bool { return link.heldBytes() > len(data) })
	held := link.segments()
	packets := order(held)
	link.inject(packets...)
	if early {
		waitFor(t, "what came early is shown", func() bool {
			s := a.(*usertcp.Stream).EarlyStats()
			return s.Runs+s.Short+s.Again+s.Full == uint64(len(packets))
		})
	}
	link.inject(held[0])
	link.release()
	// Garbage in place of a ULPDU_Length may announce an FPDU of 64 KiB, which must be complete
	// before its CRC can fail.
	more, err := ci.Register(make([]byte, 128<<10), ddp.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := cr.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 128<<10), Remote: more.Handle()}); err != nil {
		t.Fatal(err)
	}
	if _, err := cr.Write([]byte("!")); err != nil {
		t.Logf("Write at the peer: %v", err)
	}
	_, err = ci.Read(one)
	t.Logf("%d segments; Read: %v; %d FPDUs placed early", len(held), err, ci.Stats().EarlyFPDUs)
	if e := (*mpa.Error)(nil); survives && err != nil || !survives && !errors.As(err, &e) {
		t.Errorf("Read = %q, %v; the stream is to survive: %t", one, err, survives)
	}
	for i, got := range sink {
		if got != data[i] && (survives || got != 0) {
			t.Fatalf("byte %d is %#x, want %#x", i, got, data[i])
		}
	}
}
