package usertcp_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
)

// A recorder is a Link that records where written segments end.
type recorder struct {
	usertcp.Link
	mu   sync.Mutex
	ends map[uint32]int // by the sequence number after a segment: its length
}

func newRecorder(l usertcp.Link) *recorder { return &recorder{Link: l, ends: make(map[uint32]int)} }

func (r *recorder) Write(p []byte) (int, error) {
	decoder := layers.LayerTypeIPv4
	if p[0]>>4 == 6 {
		decoder = layers.LayerTypeIPv6
	}
	packet := gopacket.NewPacket(p, decoder, gopacket.NoCopy)
	if tcp, ok := packet.TransportLayer().(*layers.TCP); ok && len(tcp.Payload) > 0 {
		r.mu.Lock()
		r.ends[tcp.Seq+uint32(len(tcp.Payload))] = len(tcp.Payload)
		r.mu.Unlock()
	}
	return r.Link.Write(p)
}

// first returns the sequence number of the first byte: the lowest start of all segments.
func (r *recorder) first() (seq uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for end, n := range r.ends {
		if start := end - uint32(n); seq == 0 || int32(start-seq) < 0 {
			seq = start
		}
	}
	return seq
}

// check checks the segments of the stream from offset from on. Each must end at one of the bounds,
// where a slice ends, and none may be longer than emss.
func (r *recorder) check(t *testing.T, from int, bounds []int, emss int) {
	t.Helper()
	first := r.first()
	r.mu.Lock()
	defer r.mu.Unlock()
	atSlice := make(map[int]bool)
	for _, n := range bounds {
		atSlice[n] = true
	}
	packed, cut := 0, 0
	for end, n := range r.ends {
		end := int(end - first)
		if end-n < from {
			continue
		}
		if !atSlice[end] {
			cut++
		}
		if n > emss {
			t.Errorf("a segment has %d bytes, the EMSS is %d", n, emss)
		}
		packed++
	}
	if cut > 0 {
		t.Errorf("%d of %d segments end inside a slice", cut, packed)
	}
	if packed == 0 || packed >= len(bounds) {
		t.Errorf("%d slices became %d segments: none has several", len(bounds), packed)
	}
}

// writeSlices writes rounds batches of slices that fit the EMSS, and reads them at the other end.
// The first byte has the stream offset total. It returns where the slices end.
func writeSlices(t *testing.T, random *rand.Rand, rounds int, from, to toe.Stream, total int) (bounds []int) {
	t.Helper()
	emss := from.EMSS()
	for range rounds {
		var bufs [][]byte
		for range 1 + random.IntN(40) {
			n := emss
			if random.IntN(3) > 0 {
				n = 1 + random.IntN(emss)
			}
			bufs = append(bufs, make([]byte, n))
			total += n
			bounds = append(bounds, total)
		}
		writeAndRead(t, from, to, bufs, total)
	}
	return bounds
}

// writeAndRead writes a batch, and reads at the other end up to the stream offset total.
func writeAndRead(t *testing.T, from, to toe.Stream, bufs [][]byte, total int) {
	t.Helper()
	if err := toetest.WriteBatch(from, bufs); err != nil {
		t.Fatal(err)
	}
	for p, read := make([]byte, 64<<10), 0; read < total; {
		n, off, err := toetest.ReadSegment(to, p)
		if err != nil {
			t.Fatal(err)
		}
		read = int(off) + n
	}
}

// TestSegmentsEndWhereSlicesEnd checks the packets of batches whose slices fit the EMSS.
//
// MPA-5044-5.1-4
func TestSegmentsEndWhereSlicesEnd(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	x, y := usertcp.Pipe(1500)
	link := newRecorder(x)
	a := newStack(t, link, usertcp.Config{Addresses: addrsA})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	bounds := writeSlices(t, rand.New(rand.NewPCG(seed, 0)), 50, s, r, 0)
	link.check(t, 0, bounds, s.EMSS())
}

// TestSlicesShareSegment: the slices of a batch that fit a segment together are sent in one.
func TestSlicesShareSegment(t *testing.T) {
	x, y := usertcp.Pipe(1500)
	link := newRecorder(x)
	s, r := connect(t, newStack(t, link, usertcp.Config{Addresses: addrsA}), newStack(t, y, usertcp.Config{Addresses: addrsB}), "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	writeAndRead(t, s, r, [][]byte{make([]byte, 100), nil, make([]byte, 200), make([]byte, 300), make([]byte, s.EMSS())}, 600+s.EMSS())
	first := link.first()
	if link.mu.Lock(); link.ends[first+600] != 600 {
		t.Errorf("slices of 100, 200 and 300 bytes do not share a segment: %v", link.ends)
	}
	link.mu.Unlock()
}
