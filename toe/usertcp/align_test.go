package usertcp_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
)

// TestSegmentsEndWhereSlicesEnd looks at the packets of batches whose slices fit the EMSS.
func TestSegmentsEndWhereSlicesEnd(t *testing.T) {
	const seed, rounds = 1, 50
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	ends := make(map[uint32]int) // sequence number behind a segment: its length
	x, y := usertcp.Pipe(1500)
	a := newStack(t, &gate{x, func(p []byte) bool {
		packet := gopacket.NewPacket(p, layers.LayerTypeIPv4, gopacket.NoCopy)
		if tcp, ok := packet.TransportLayer().(*layers.TCP); ok && len(tcp.Payload) > 0 {
			mu.Lock()
			defer mu.Unlock()
			ends[tcp.Seq+uint32(len(tcp.Payload))] = len(tcp.Payload)
		}
		return false
	}}, usertcp.Config{Addresses: addrsA})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	emss := s.EMSS()
	var bounds []int // where slices end
	total := 0
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
		if err := toetest.WriteBatch(s, bufs); err != nil {
			t.Fatal(err)
		}
		for p := make([]byte, 64<<10); ; {
			n, off, err := toetest.ReadSegment(r, p)
			if err != nil {
				t.Fatal(err)
			}
			if off+uint64(n) == uint64(total) {
				break
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	var isn uint32 // of the first byte: the lowest start of all segments
	for end, n := range ends {
		if start := end - uint32(n); isn == 0 || int32(start-isn) < 0 {
			isn = start
		}
	}
	atSlice := make(map[uint32]bool)
	for _, n := range bounds {
		atSlice[isn+uint32(n)] = true
	}
	packed := 0
	for end, n := range ends {
		if !atSlice[end] {
			t.Errorf("a segment of %d bytes ends at %d, inside a slice", n, end-isn)
		}
		if n > emss {
			t.Errorf("a segment has %d bytes, the EMSS is %d", n, emss)
		}
		packed++
	}
	if packed >= len(bounds) {
		t.Errorf("%d slices became %d segments: none has several", len(bounds), packed)
	}
}
