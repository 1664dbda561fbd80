package hostile_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe/usertcp"
)

// The tests of this file play the blind attacker of RFC 5961. The attacker sends segments with the
// addresses and ports of a connection whose packets it does not see. The tests give the attacker
// some of the values that a real one would have to guess.

// A spoofing is two Stacks, and an attacker on the link from one to the other.
type spoofing struct {
	t      *testing.T
	random *rand.Rand
	link   *watchedLink
	tokens chan struct{}
	peer   *usertcp.Stack
	victim *usertcp.Stack
	noise  []byte
	packet []byte
}

func newSpoofing(t *testing.T) *spoofing {
	t.Helper()
	x, y := usertcp.Pipe(1500)
	s := &spoofing{t: t, random: seeded(t), link: &watchedLink{Link: x}, tokens: make(chan struct{}, 256), noise: make([]byte, 1<<16)}
	for i := range s.noise {
		s.noise[i] = byte(s.random.Uint32())
	}
	stack := func(l usertcp.Link, address string) *usertcp.Stack {
		u, err := usertcp.New(l, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { u.Close() })
		return u
	}
	s.peer, s.victim = stack(s.link, "10.9.0.1/24"), stack(&countedLink{y, s.tokens}, "10.9.0.2/24")
	return s
}

// payload returns random bytes, of any length that fits a segment.
func (s *spoofing) payload() []byte {
	n := 1 + s.random.IntN(1400)
	return s.noise[s.random.IntN(len(s.noise)-n):][:n]
}

// segment returns a segment that the victim's TCP must accept, anywhere in the window.
func (s *spoofing) segment(v *view) rawSegment {
	seg := rawSegment{src: v.src, dst: v.dst, ack: v.ack, flags: tcpACK, window: 500, options: timestampsOption(v.stamp, 0), payload: s.payload()}
	seg.seq = v.next + uint32(s.random.IntN(max(1, int(v.window)-len(seg.payload))))
	return seg
}

// inject sends a segment to the victim, once few enough are in flight.
func (s *spoofing) inject(seg *rawSegment) {
	s.packet = seg.appendTo(s.packet[:0])
	s.tokens <- struct{}{}
	if _, err := s.link.Link.Write(s.packet); err != nil {
		s.t.Error(err)
	}
}

// drain waits until the victim has got every packet of the attacker.
func (s *spoofing) drain() {
	for range cap(s.tokens) {
		s.tokens <- struct{}{}
	}
	for range cap(s.tokens) {
		<-s.tokens
	}
}

// connect makes a connection from the peer to the victim, in DDP mode, with memory for RDMA Writes.
func (s *spoofing) connect() *bulkTransfer {
	s.t.Helper()
	l, err := s.victim.Listen(s.t.Context(), "tcp", "10.9.0.2:0")
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.Close()
	s.link.watch()
	a, err := s.peer.Dial(s.t.Context(), "tcp", l.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	c := &bulkTransfer{
		from: extsock.NewConn(a, true, nil), to: extsock.NewConn(b, false, nil),
		memory: prototest.Pattern(bulkLen, 1), spare: prototest.Pattern(bulkLen, 2), data: prototest.Pattern(bulkLen, 1),
	}
	s.t.Cleanup(func() { c.from.Close(); c.to.Close() })
	errs := make(chan error, 2)
	for _, e := range []*extsock.Conn{c.from, c.to} {
		go func() { errs <- e.EnableDDP(timeLimit(s.t), nil) }()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		s.t.Fatal(err)
	}
	if state := c.to.ConnectionState(); !state.ReceivesMarkers || !state.CRC {
		s.t.Fatalf("the victim receives no Markers, or no CRC: %+v", state)
	}
	for i, b := range [][]byte{c.memory, c.spare} {
		if c.regions[i], err = c.to.Register(b, ddp.RemoteWrite); err != nil {
			s.t.Fatal(err)
		}
	}
	c.handle = c.regions[0].Handle()
	return c
}

// TestSpoofedSegmentsRefused: a segment in the window whose ACK or timestamp the attacker has not
// guessed reaches neither TCP nor memory, and the stream continues. The last attacker guesses all
// three again for each segment.
func TestSpoofedSegmentsRefused(t *testing.T) {
	for _, test := range []struct {
		desc  string
		spoil func(r *rand.Rand, v *view, s *rawSegment)
	}{
		{"no timestamp", func(r *rand.Rand, v *view, s *rawSegment) { s.options = nil }},
		{"an old timestamp", func(r *rand.Rand, v *view, s *rawSegment) {
			s.options = timestampsOption(v.stamp-1_000_000-r.Uint32N(1<<30), 0)
		}},
		{"an ACK of what was not sent", func(r *rand.Rand, v *view, s *rawSegment) { s.ack = v.ack + 16<<20 + r.Uint32N(1<<30) }},
		{"an old ACK", func(r *rand.Rand, v *view, s *rawSegment) { s.ack = v.ack - 16<<20 - r.Uint32N(1<<30) }},
		{"blind guesses", func(r *rand.Rand, v *view, s *rawSegment) {
			s.seq, s.ack, s.options = r.Uint32(), r.Uint32(), timestampsOption(r.Uint32(), 0)
		}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			count := testmode.Count(10_000_000/5, 10_000)
			if testmode.Slow() {
				count /= 20
			}
			s := newSpoofing(t)
			c := s.connect()
			c.begin()
			waitFor(t, "the transfer begins", func() bool { return c.received() > bulkLen })
			before := c.received()
			for range count {
				v := s.link.now()
				seg := s.segment(&v)
				test.spoil(s.random, &v, &seg)
				s.inject(&seg)
			}
			s.drain()
			moved := c.received() - before
			c.pause()
			lost := 0
			if err := c.works(); err != nil {
				t.Errorf("the stream is lost: %v", err)
				lost++
			}
			c.end()
			if n := c.spoiled(); n != 0 {
				t.Errorf("%d bytes placed", n)
			}
			t.Logf("%d spoofed segments: %d streams lost; the transfer moved %d MB meanwhile", count, lost, moved/1e6)
		})
	}
}

// TestSpoofedSegmentsAccepted: the attacker has guessed sequence number, ACK and timestamp. TCP
// takes such a segment, so it may cost the stream, but no byte is placed and no other stream
// suffers.
func TestSpoofedSegmentsAccepted(t *testing.T) {
	streams := testmode.Count(100, 5)
	if testmode.Slow() {
		streams = 1
	}
	for _, test := range []struct {
		desc   string
		forged bool
		idle   int // segments that arrive before the transfer begins; 0: they arrive during the transfer
	}{
		{"random payload, bulk transfer", false, 0},
		{"random payload, one segment to an idle stream", false, 1},
		{"FPDUs with a valid CRC, bulk transfer", true, 0},
		{"FPDUs with a valid CRC, one segment to an idle stream", true, 1},
	} {
		t.Run(test.desc, func(t *testing.T) {
			s := newSpoofing(t)
			bystander := s.connect()
			lost, stuck, sent, placed := 0, 0, 0, 0
			for range streams {
				c := s.connect()
				c.watch()
				n := s.attack(c, test.forged, test.idle)
				sent += n
				switch {
				case c.isLost():
					if lost++; c.err == nil || c.err == io.EOF {
						t.Errorf("a stream that is lost ends with %v", c.err)
					}
				case c.isStuck:
					stuck++
				}
				c.end()
				placed += c.spoiled()
			}
			if placed != 0 {
				t.Errorf("%d bytes placed", placed)
			}
			if err := bystander.works(); err != nil {
				t.Errorf("a stream that was not attacked: %v", err)
			}
			t.Logf("%d segments to %d streams: %d bytes placed, %d streams lost, %d stuck", sent, streams, placed, lost, stuck)
		})
	}
}

// attack sends a limited number of segments to a transfer until the stream is lost. If idle is not
// 0, it sends that many before the transfer begins.
func (s *spoofing) attack(c *bulkTransfer, forged bool, idle int) (sent int) {
	const most = 10_000
	spoof := func() {
		v := s.link.now()
		seg := s.segment(&v)
		if forged {
			s.forge(&v, &seg)
		}
		s.inject(&seg)
		s.drain()
		sent++
	}
	for range idle {
		spoof()
	}
	c.begin()
	if idle > 0 {
		c.moves(2 << 20) // twice the window
		return sent
	}
	for c.moves(1<<16) && sent < most {
		spoof()
	}
	return sent
}

// forge makes the payload a valid FPDU at its place, which writes to the memory of a random STag.
func (s *spoofing) forge(v *view, seg *rawSegment) {
	seg.seq &^= 3
	seg.seq += v.base & 3
	ulpdu := prototest.Tagged(prototest.ControlTagged, s.random.Uint32(), s.random.Uint64(), s.payload())
	seg.payload = forgeFPDU(uint64(seg.seq-v.base), ulpdu)
}

// TestSpoofedRunsPlaceNothing gives MPA and DDP early runs from a blind attacker, between those of
// the peer. Half of them have random bytes. The others are FPDUs with Markers and a valid CRC that
// write to a random STag, or to the buffer of a random message. None changes a byte, and none
// delays the stream.
func TestSpoofedRunsPlaceNothing(t *testing.T) {
	count := testmode.Count(10_000_000, 50_000)
	random := seeded(t)
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	bytesOf := func(n int) []byte { return noise[random.IntN(len(noise)-n):][:n] }
	buf := make([]byte, 2*mpa.MinBuffer)
	shown, sent := 0, 0
	for sent < count {
		script := newOverlapScript(t, random)
		e := script.newEnd(random, buf)
		for at := 0; at < len(script.streams[0]); {
			for range 1000 {
				off := uint64(at+4*(1+random.IntN(1<<18))) &^ 3
				run := bytesOf(1 + random.IntN(1400))
				if sent++; sent%2 == 0 {
					run = forgeRun(off, random, bytesOf(512+random.IntN(800))) // a Marker leads to it
				}
				n, err := e.spoofed(off, run)
				if err != nil {
					t.Fatalf("after %d runs: %v", sent, err)
				}
				shown += n
			}
			n := min(1+random.IntN(1000), len(script.streams[0])-at)
			if err := e.input(uint64(at), script.streams[0][at:at+n]); err != nil {
				t.Fatalf("after %d runs: %v", sent, err)
			}
			at += n
		}
		if outcome, err := e.finish(); err != nil || outcome != overlapComplete {
			t.Fatalf("the stream ends with outcome %d: %v", outcome, err)
		}
	}
	t.Logf("%d runs: MPA found %d FPDUs with a valid CRC in them, 0 bytes placed, 0 streams lost", sent, shown)
	if shown < sent/3 {
		t.Error("MPA found too few of the FPDUs: the test forges too badly")
	}
}

// forgeRun returns a valid FPDU for memory that the attacker has guessed.
func forgeRun(off uint64, random *rand.Rand, payload []byte) []byte {
	ulpdu := prototest.Tagged(prototest.ControlTagged, random.Uint32(), random.Uint64(), payload)
	if random.IntN(4) == 0 {
		ulpdu = prototest.Untagged(prototest.ControlUntagged, uint32(0), random.Uint32(), 0, payload)
	}
	return forgeFPDU(off, ulpdu)
}

// spoofed gives the end an early run of the attacker, and returns the number of FPDUs in it that
// MPA has shown.
func (e *overlapEnd) spoofed(off uint64, run []byte) (shown int, err error) {
	e.mpa.Fill(off, copy(e.mpa.Free(), run))
	for ; e.mpa.Next(); shown++ {
		u := e.mpa.ULPDU()
		if !u.Early {
			return shown, fmt.Errorf("an FPDU at %d arrives in order", u.Off)
		}
		if e.ddp.TryPlace(u.Off, u.Data) {
			return shown, fmt.Errorf("an FPDU at %d is placed: %x", u.Off, u.Data[:min(len(u.Data), 20)])
		}
		e.mpa.Unread()
	}
	return shown, e.mpa.Err()
}
