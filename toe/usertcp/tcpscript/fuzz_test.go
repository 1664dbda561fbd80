package tcpscript

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/usertcp"
)

const (
	guardLen, regionLen = 64, 4096
	// maxInput bounds the packets of one run in bytes, and maxHeap the live memory of the process:
	// the buffers of a connection may take 16 MiB.
	maxInput, maxHeap = 64 << 10, 256 << 20
)

// A victim is a connection in DDP mode between two Stacks. An attacker sees it, and can send
// packets to one of its ends.
type victim struct {
	link   *wiretap // the attacker's
	stacks [2]*usertcp.Stack
	conns  [2]*extsock.Conn // the attacked end is the second one
	memory []byte           // of the attacked end; its middle is a Region
}

// A wiretap is the peer's end of the link to the attacked Stack.
type wiretap struct {
	usertcp.Link
	echoed chan struct{} // the attacked Stack has answered an echo request

	mu        sync.Mutex
	from      segment // the last segment of the attacked Stack
	toward    []byte  // the last packet with data from its peer
	addresses bool    // from is a segment
}

// Read reads what the attacked Stack has sent.
func (w *wiretap) Read(p []byte) (int, error) {
	n, err := w.Link.Read(p)
	if err != nil {
		return n, err
	}
	if n > 28 && p[0]>>4 == 4 && p[9] == byte(layers.IPProtocolICMPv4) && p[20] == layers.ICMPv4TypeEchoReply {
		select {
		case w.echoed <- struct{}{}:
		default:
		}
	}
	if s, ok := decode(p[:n]); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		s.options, s.payload = nil, bytes.Clone(s.payload)
		w.from, w.addresses = s, true
	}
	return n, err
}

// Write sends a packet to the attacked Stack.
func (w *wiretap) Write(p []byte) (int, error) {
	if s, ok := decode(p); ok && len(s.payload) > 0 {
		w.mu.Lock()
		w.toward = bytes.Clone(p)
		w.mu.Unlock()
	}
	return w.Link.Write(p)
}

// newVictim makes a connection, and moves some bytes over it.
func newVictim(t testing.TB) *victim {
	t.Helper()
	x, y := usertcp.Pipe(linkMTU)
	v := &victim{link: &wiretap{Link: x, echoed: make(chan struct{}, 1)}, memory: bytes.Repeat([]byte{0xaa}, guardLen+regionLen+guardLen)}
	for i, l := range []usertcp.Link{v.link, y} {
		s, err := usertcp.New(l, usertcp.Config{Addresses: []netip.Prefix{netip.PrefixFrom([]netip.Addr{scriptAddrs[0], hostAddrs[0]}[i], 24)}, KeepAlive: -1})
		if err != nil {
			t.Fatal(err)
		}
		v.stacks[i] = s
	}
	l, err := v.stacks[1].Listen(t.Context(), "tcp", netip.AddrPortFrom(hostAddrs[0], hostPort).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := v.stacks[0].Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &extsock.Config{CloseTimeout: 50 * time.Millisecond}
	v.conns = [2]*extsock.Conn{extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	errs := make(chan error, 2)
	for _, c := range v.conns {
		go func() { errs <- c.EnableDDP(ctx, nil) }()
	}
	for range v.conns {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	r, err := v.conns[1].Register(v.memory[guardLen:][:regionLen:regionLen], ddp.RemoteWrite|ddp.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.conns[0].Remote(r.Handle()).WriteAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	return v
}

// settle waits until the attacked Stack has taken all packets from the link.
func (v *victim) settle(t testing.TB) {
	t.Helper()
	ip, _ := ipLayer(scriptAddrs[0], hostAddrs[0], layers.IPProtocolICMPv4)
	echo := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)}
	if _, err := v.link.Link.Write(serialize(true, ip, echo, gopacket.Payload(make([]byte, 8)))); err != nil {
		t.Fatal(err)
	}
	select {
	case <-v.link.echoed:
	case <-time.After(patience):
		t.Fatal("the Stack does not answer an echo request")
	}
}

// end ends everything, and checks that the memory around the Region is unchanged.
func (v *victim) end(t testing.TB) {
	t.Helper()
	for i := range v.stacks {
		v.stacks[i].Close()
	}
	for _, c := range v.conns {
		c.Close() // its error is that of the attacked connection
	}
	for _, b := range [][]byte{v.memory[:guardLen], v.memory[guardLen+regionLen:]} {
		if !bytes.Equal(b, bytes.Repeat([]byte{0xaa}, guardLen)) {
			t.Error("bytes outside of the Region have changed")
		}
	}
}

// attack makes packets from in and sends them. in consists of records. The first two bytes of a
// record are its length, and the third byte is the kind of the rest: a complete packet; a packet
// whose checksums attack corrects; the flags, numbers, window, options and payload of a segment of
// the connection; or changes to the peer's last segment.
func (v *victim) attack(in []byte) {
	for len(in) >= 3 {
		n := min(int(binary.BigEndian.Uint16(in)), len(in)-3, linkMTU)
		kind, b := in[2], in[3:][:n]
		in = in[3+n:]
		v.link.mu.Lock()
		from, toward, known := v.link.from, bytes.Clone(v.link.toward), v.link.addresses
		v.link.mu.Unlock()
		switch p := bytes.Clone(b); {
		case kind%4 == 0:
			v.link.Link.Write(p)
		case kind%4 == 1:
			v.link.Link.Write(repair(p))
		case kind%4 == 2 && known:
			if p := segmentOf(&from, p); p != nil {
				v.link.Link.Write(p)
			}
		case kind%4 == 3:
			for ; len(p) >= 3 && len(toward) > 0; p = p[3:] {
				toward[int(binary.BigEndian.Uint16(p))%len(toward)] ^= p[2]
			}
			v.link.Link.Write(repair(toward))
		}
	}
}

// segmentOf makes a segment to the sender of from. b has 2 bytes for the flags, 2 for the distance
// from the right sequence number, 2 for the distance from the right ACK, 2 for the window and 1 for
// the length of the options. The options and the payload follow.
func segmentOf(from *segment, b []byte) []byte {
	const headerLen = 9
	if len(b) < headerLen {
		return nil
	}
	s := &segment{src: from.dst, dst: from.src}
	for i := range flagLetters {
		if b[0]>>i&1 != 0 {
			s.flags += flagLetters[i : i+1]
		}
	}
	s.offset = int(b[1] & 15) // mostly wrong, and 0 means the right one
	if b[1] > 15 {
		s.offset = 0
	}
	s.seq = from.ack + uint32(int32(int16(binary.BigEndian.Uint16(b[2:]))))
	s.ack = from.seq + from.length() + uint32(int32(int16(binary.BigEndian.Uint16(b[4:]))))
	s.window = binary.BigEndian.Uint16(b[6:])
	rest := b[headerLen:]
	n := min(int(b[8])%41, len(rest))
	s.options, s.payload = rest[:n], rest[n:]
	return s.inIP(s.encode())
}

// repair corrects the checksums of p, as far as p is an IPv4 packet.
func repair(p []byte) []byte {
	if len(p) < 20 || p[0]>>4 != 4 {
		return p
	}
	header := min(max(int(p[0]&15)*4, 20), len(p))
	binary.BigEndian.PutUint16(p[10:], 0)
	binary.BigEndian.PutUint16(p[10:], ^sum(p[:header], 0))
	at := map[byte]int{1: 2, 6: 16}[p[9]] // where the sum of ICMP and TCP is
	if body := p[header:]; at > 0 && len(body) >= at+2 {
		binary.BigEndian.PutUint16(body[at:], 0)
		pseudo := uint32(0)
		if p[9] == 6 {
			pseudo = uint32(sum(p[12:20], 0)) + 6 + uint32(len(body))
		}
		binary.BigEndian.PutUint16(body[at:], ^sum(body, pseudo))
	}
	return p
}

// sum returns the Internet checksum of b, not inverted (RFC 1071).
func sum(b []byte, s uint32) uint16 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// record makes a record for attack.
func record(kind byte, b ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), kind), b...)
}

// attackSeeds are records that reach different parts of the Stack.
func attackSeeds() (seeds [][]byte) {
	s := &segment{src: netip.AddrPortFrom(scriptAddrs[0], 9), dst: netip.AddrPortFrom(hostAddrs[0], hostPort), flags: "S", window: 1,
		options: []byte{2, 4, 0, 1, 1, 3, 3, 15, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0}}
	tcp := s.encode()
	for _, p := range append([][]byte{s.inIP(tcp), s.withOptions(tcp), tooBig(scriptAddrs[0], hostAddrs[0], 0, s.inIP(tcp)[:28])}, s.inFragments(tcp, 24, 24)...) {
		seeds = append(seeds, record(0, p...), record(1, p...))
	}
	const ack, rst, fin, syn = 1 << 3, 1 << 2, 1 << 1, 1
	for _, flags := range []byte{ack, rst, ack | fin, syn, ack | syn, 0} {
		for _, off := range []byte{0, 1, 200} {
			seeds = append(seeds, record(2, append([]byte{flags, 0, 0, off, 0, 0, 255, 255, 0}, make([]byte, 50)...)...))
		}
	}
	sack := []byte{ack, 0, 0, 0, 0, 0, 0, 0, 12, 1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 0, 1}
	return append(seeds, record(2, sack...), record(3), record(3, 0, 60, 1, 0, 61, 7), bytes.Join(seeds, nil))
}

// FuzzPackets sends packets to a Stack with a connection in DDP mode, from an attacker who sees the
// connection. There is no panic, no byte outside the Region changes, and the memory is bounded.
func FuzzPackets(f *testing.F) {
	for _, seed := range attackSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > maxInput {
			return
		}
		// A hang is a bug, too, and the fuzzer keeps inputs that cause a panic.
		defer time.AfterFunc(time.Minute, func() { panic("the Stack hangs") }).Stop()
		v := newVictim(t)
		v.attack(in)
		v.settle(t)
		v.end(t)
		live := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		if metrics.Read(live); live[0].Value.Uint64() > maxHeap {
			runtime.GC()
			if metrics.Read(live); live[0].Value.Uint64() > maxHeap {
				t.Errorf("%d bytes of live objects", live[0].Value.Uint64())
			}
		}
	})
}

// TestPacketFlood sends random records to one Stack after another. No memory of a connection
// remains. A Stack that has received only a part of a fragmented packet becomes garbage only when a
// timer of gVisor has expired, at most a minute after Close.
func TestPacketFlood(t *testing.T) {
	const each, mostOfStack = 500, 64 << 10
	victims := testmode.Count(1000, 20)
	random := prototest.Seeded(t)
	seeds := attackSeeds()
	for range victims {
		v := newVictim(t)
		for range each {
			b := bytes.Clone(seeds[random.IntN(len(seeds)-1)])
			if random.IntN(2) == 0 && len(b) > 3 {
				b[3+random.IntN(len(b)-3)] ^= byte(random.Uint32())
			}
			v.attack(b)
		}
		v.settle(t)
		v.end(t)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	if most := uint64(8<<20 + victims*mostOfStack); m.HeapAlloc > most {
		t.Errorf("%d bytes of live objects, want at most %d", m.HeapAlloc, most)
	}
	t.Logf("%d KiB of live objects", m.HeapAlloc>>10)
}
