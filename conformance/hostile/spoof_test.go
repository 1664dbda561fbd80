package hostile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/usertcp"
)

// The tests of this file are the blind attacker of RFC 5961, who sends segments with the addresses and
// ports of a connection whose packets the attacker does not see. The tests give the attacker what must
// otherwise be guessed.

// A view is what a test tells the attacker about a connection.
type view struct {
	src, dst netip.AddrPort // of the segments to the victim
	next     uint32         // RCV.NXT of the victim
	window   uint32         // RCV.WND of the victim, in bytes
	ack      uint32         // SND.NXT of the victim
	stamp    uint32         // the peer's last timestamp
	base     uint32         // sequence number of the first FPDU to the victim
}

// A watchedLink is the peer's end of a link to the victim. It follows one connection.
type watchedLink struct {
	usertcp.Link

	mu    sync.Mutex
	scale int // of the victim's window
	known bool
	view  view
}

// watch makes the link follow the connection that the peer opens next.
func (l *watchedLink) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view, l.known = view{}, false
}

func (l *watchedLink) now() view {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view
}

// Write looks at a packet of the peer.
func (l *watchedLink) Write(p []byte) (int, error) {
	if s, ok := parseRaw(p); ok {
		l.mu.Lock()
		v := &l.view
		switch {
		case s.flags&tcpSYN != 0 && !l.known:
			l.known, v.src, v.dst = true, s.src, s.dst
		case s.src == v.src && s.dst == v.dst:
			v.stamp, _, _ = s.timestampsOf()
			if v.base == 0 && len(s.payload) >= mpa.FrameHeaderLen { // the MPA Request
				if n, err := mpa.FrameLen(s.payload); err == nil {
					v.base = s.seq + uint32(n)
				}
			}
		}
		l.mu.Unlock()
	}
	return l.Link.Write(p)
}

// Read looks at a packet of the victim.
func (l *watchedLink) Read(p []byte) (int, error) {
	n, err := l.Link.Read(p)
	if s, ok := parseRaw(p[:n]); ok && err == nil {
		l.mu.Lock()
		if v := &l.view; s.src == v.dst && s.dst == v.src {
			if s.flags&tcpSYN != 0 {
				l.scale = windowScale(s.options)
			} else {
				v.next, v.window = s.ack, uint32(s.window)<<l.scale
			}
			v.ack = s.seq + uint32(len(s.payload))
		}
		l.mu.Unlock()
	}
	return n, err
}

// windowScale returns the shift of the window among the options of a SYN.
func windowScale(o []byte) int {
	for len(o) > 1 && o[0] != 0 {
		switch {
		case o[0] == 1:
			o = o[1:]
		case o[0] == 3 && len(o) > 2:
			return int(o[2])
		default:
			o = o[max(2, min(int(o[1]), len(o))):]
		}
	}
	return 0
}

// A countedLink is the victim's end of the link. It lets the attacker have a bounded number of
// packets on the way.
type countedLink struct {
	usertcp.Link
	tokens chan struct{}
}

func (l *countedLink) Read(p []byte) (int, error) {
	n, err := l.Link.Read(p)
	if err == nil && p[8] == spoofedTTL {
		<-l.tokens
	}
	return n, err
}

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

// random bytes of any length that fits a segment.
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

// inject sends a segment to the victim, when not too many are on the way.
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

// A bulkTransfer writes the same bytes to the victim's memory again and again.
type bulkTransfer struct {
	from, to *extsock.Conn
	memory   []byte // what the peer writes to
	spare    []byte // what the peer may write to, but does not
	data     []byte
	handle   rdmap.Handle
	regions  [2]extsock.Region
	stop     atomic.Bool
	writing  sync.WaitGroup
	lost     chan struct{} // closed when the victim's end has failed
	isStuck  bool
}

const (
	bulkLen    = 64 << 10
	stuckAfter = 5 * time.Second
)

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

// begin begins to write.
func (c *bulkTransfer) begin() {
	m := c.from.Remote(c.handle)
	c.writing.Go(func() {
		for !c.stop.Load() {
			if _, err := m.WriteAt(c.data, 0); err != nil {
				return
			}
		}
	})
}

// watch waits in the background for the end of the connection.
func (c *bulkTransfer) watch() {
	c.lost = make(chan struct{})
	c.writing.Go(func() {
		c.to.Read(make([]byte, 1))
		close(c.lost)
	})
}

func (c *bulkTransfer) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// moves waits until the victim has received n more bytes, and reports whether it has before the
// stream was lost. A stream on which nothing has arrived for some seconds is stuck.
func (c *bulkTransfer) moves(n uint64) bool {
	at, began := c.received(), time.Now()
	for limit := at + n; at < limit; time.Sleep(time.Millisecond) {
		if now := c.received(); now != at {
			at, began = now, time.Now()
		}
		if c.isStuck = time.Since(began) > stuckAfter; c.isStuck || c.isLost() {
			return false
		}
	}
	return true
}

// received returns the number of bytes that the victim has received.
func (c *bulkTransfer) received() uint64 { return c.to.Stats().Received.Octets }

// pause ends the transfer.
func (c *bulkTransfer) pause() {
	c.stop.Store(true)
	c.writing.Wait()
}

// end closes the connection.
func (c *bulkTransfer) end() {
	c.stop.Store(true)
	c.from.SetLinger(0)
	c.from.Close()
	c.to.Close()
	c.writing.Wait()
}

// spoiled returns the number of bytes of the victim's memory that the attacker has changed. The
// connection must have been closed.
func (c *bulkTransfer) spoiled() (n int) {
	for _, r := range c.regions {
		r.Deregister()
	}
	for i, want := range [][]byte{c.data, prototest.Pattern(bulkLen, 2)} {
		for k, b := range [][]byte{c.memory, c.spare}[i] {
			if b != want[k] {
				n++
			}
		}
	}
	return n
}

// works sends a message from the peer to the victim.
func (c *bulkTransfer) works() error {
	const text = "after the attack"
	if _, err := c.from.Write([]byte(text)); err != nil {
		return err
	}
	b := make([]byte, len(text))
	c.to.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := readFull(c.to, b); err != nil {
		return err
	}
	if string(b) != text {
		return errors.New("other bytes arrived")
	}
	return nil
}

// TestSpoofedSegmentsRefused: a segment in the window whose ACK or timestamp the attacker has not
// guessed reaches neither TCP nor memory. It costs the connection no more than its packet costs.
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
	} {
		t.Run(test.desc, func(t *testing.T) {
			count := testmode.Count(10_000_000/4, 10_000)
			if testmode.Slow() {
				count /= 20
			}
			s := newSpoofing(t)
			c := s.connect()
			c.begin()
			waitFor(t, "the transfer begins", func() bool { return c.received() > bulkLen })
			began, before := time.Now(), c.received()
			for range count {
				v := s.link.now()
				seg := s.segment(&v)
				test.spoil(s.random, &v, &seg)
				s.inject(&seg)
			}
			s.drain()
			took, moved := time.Since(began).Seconds(), c.received()-before
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
			t.Logf("%d spoofed segments, %.0f/s: %d streams lost; the transfer had %.0f MB/s meanwhile", count, float64(count)/took, lost, float64(moved)/took/1e6)
		})
	}
}

// TestSpoofedRate measures what spoofed segments that the victim refuses cost the transfer. It
// alternates between the transfer alone and the transfer under attack. The attacker works on the same
// CPUs, so the loss contains the attacker's own work too.
func TestSpoofedRate(t *testing.T) {
	rounds, round := testmode.Count(15, 1), time.Duration(testmode.Count(500, 20))*time.Millisecond
	rates := []int{1000, 10_000, 100_000}[:testmode.Count(3, 1)]
	s := newSpoofing(t)
	c := s.connect()
	c.begin()
	waitFor(t, "the transfer begins", func() bool { return c.received() > bulkLen })
	for _, perSecond := range rates {
		var losses []float64
		var sent int
		for range rounds {
			alone := c.rate(round, func(time.Duration) {})
			due := 0
			attacked := c.rate(round, func(since time.Duration) {
				for ; due < int(since.Seconds()*float64(perSecond)); due++ {
					v := s.link.now()
					seg := s.segment(&v)
					seg.options = nil
					s.inject(&seg)
				}
			})
			sent += due
			losses = append(losses, 1-attacked/alone)
		}
		slices.Sort(losses)
		t.Logf("%d segments to be sent per second, %.0f sent: the transfer loses %.1f %% (median of %d rounds)", perSecond,
			float64(sent)/float64(rounds)/round.Seconds(), 100*losses[len(losses)/2], rounds)
	}
	c.pause()
	if err := c.works(); err != nil {
		t.Errorf("the stream is lost: %v", err)
	}
	c.end()
	if n := c.spoiled(); n != 0 {
		t.Errorf("%d bytes placed", n)
	}
}

// rate returns the bytes per second that arrive during d. It calls tick each millisecond.
func (c *bulkTransfer) rate(d time.Duration, tick func(since time.Duration)) float64 {
	began, before := time.Now(), c.received()
	for now := began; now.Sub(began) < d; now = time.Now() {
		tick(now.Sub(began))
		time.Sleep(time.Millisecond - time.Since(now))
	}
	return float64(c.received()-before) / time.Since(began).Seconds()
}

// TestSpoofedSegmentsAccepted: the attacker has guessed sequence number, ACK and timestamp. TCP takes
// such a segment, so it may cost the stream, but no byte is placed and no other stream suffers.
func TestSpoofedSegmentsAccepted(t *testing.T) {
	streams := testmode.Count(300, 5)
	if testmode.Slow() {
		streams = 1
	}
	for _, test := range []struct {
		desc   string
		forged bool
		idle   int // segments that arrive before the transfer begins; without them, it goes on meanwhile
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
					lost++
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

// attack sends segments to a transfer until the stream is lost, but not without limit. If idle is not
// 0, it sends so many before the transfer begins.
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

// forge makes the payload a valid FPDU at its place, which writes to memory of some STag.
func (s *spoofing) forge(v *view, seg *rawSegment) {
	seg.seq &^= 3
	seg.seq += v.base & 3
	ulpdu := prototest.Tagged(prototest.ControlTagged, s.random.Uint32(), s.random.Uint64(), s.payload())
	seg.payload = forgeFPDU(uint64(seg.seq-v.base), ulpdu)
}

// TestSpoofedRunsPlaceNothing gives MPA and DDP early runs that a blind attacker has sent, in between
// those of the peer. Half of them have random bytes. The others are FPDUs with Markers and a valid CRC
// that write to a random STag, or to the buffer of a random message. None changes a byte, and none
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

// spoofed gives the end an early run of the attacker, and returns how many FPDUs MPA has shown of it.
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
