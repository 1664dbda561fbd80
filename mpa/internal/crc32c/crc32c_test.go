package crc32c

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// random returns n bytes, and the source of more. It logs the seed.
func random(t testing.TB, n int) ([]byte, *rand.Rand) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b, r
}

// eachKernel runs f for each kernel that works on this CPU.
func eachKernel(t *testing.T, f func(t *testing.T, k kernel)) {
	for _, k := range kernels() {
		t.Run(k.String(), func(t *testing.T) { f(t, k) })
	}
}

// TestKnownValues checks the examples of RFC 3720 B.4 and the check value of the polynomial.
func TestKnownValues(t *testing.T) {
	up, down := make([]byte, 32), make([]byte, 32)
	for i := range up {
		up[i], down[i] = byte(i), byte(31-i)
	}
	read10 := make([]byte, 48)
	copy(read10, "\x01\xc0")
	copy(read10[16:], "\x14\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x14\x00\x00\x00\x18\x28\x00\x00\x00\x00\x00\x00\x00\x02")
	tests := []struct {
		desc string
		p    []byte
		want uint32
	}{
		{"nothing", nil, 0},
		{"check value", []byte("123456789"), 0xE3069283},
		{"zeros", make([]byte, 32), 0x8A9136AA},
		{"ones", bytes.Repeat([]byte{0xff}, 32), 0x62A8AB43},
		{"incrementing", up, 0x46DD794E},
		{"decrementing", down, 0x113FDB5C},
		{"Read(10)", read10, 0xD9963A56},
	}
	eachKernel(t, func(t *testing.T, k kernel) {
		for _, tt := range tests {
			if got := k.update(0, tt.p, false); got != tt.want {
				t.Errorf("%s: %08x, want %08x", tt.desc, got, tt.want)
			}
		}
	})
}

// bitwise computes the CRC bit by bit, as its definition says.
func bitwise(crc uint32, p []byte) uint32 {
	crc = ^crc
	for _, b := range p {
		crc ^= uint32(b)
		for range 8 {
			low := crc & 1
			crc >>= 1
			crc ^= low * 0x82F63B78 // 0x1EDC6F41 reflected
		}
	}
	return ^crc
}

// TestPortable compares the kernel that all others are compared with to the definition.
func TestPortable(t *testing.T) {
	p, r := random(t, 5000)
	for n := 0; n < len(p); n += 1 + n/20 {
		crc := r.Uint32()
		if got, want := updatePortable(crc, p[:n]), bitwise(crc, p[:n]); got != want {
			t.Fatalf("%d bytes after %08x: %08x, want %08x", n, crc, got, want)
		}
	}
}

// TestLengthsAndAlignments checks all lengths up to 2,048 bytes at all 64 alignments.
func TestLengthsAndAlignments(t *testing.T) {
	const most = 2048
	p, r := random(t, most+128)
	base := align(p)
	step := 1
	if testmode.Slow() {
		step = 7 // with each length at some alignment, and each alignment with some length
	}
	eachKernel(t, func(t *testing.T, k kernel) {
		for n := range most + 1 {
			for at := n % step; at < 64; at += step {
				q, crc := p[base+at:base+at+n], r.Uint32()
				want := updatePortable(crc, q)
				if got := k.update(crc, q, at%2 == 0); got != want {
					t.Fatalf("%d bytes at alignment %d after %08x: %08x, want %08x", n, at, crc, got, want)
				}
			}
		}
	})
}

// TestStructuredData checks data that show an exchanged or lost bit: one bit set, one bit cleared,
// and runs of equal bytes.
func TestStructuredData(t *testing.T) {
	lengths := []int{64, 128, 255, 256, 511, 512, 1008, 1023, 1760, 4096}
	if testmode.Slow() {
		lengths = []int{64, 256, 1008}
	}
	eachKernel(t, func(t *testing.T, k kernel) {
		for _, n := range lengths {
			p := make([]byte, n)
			for _, fill := range []byte{0x00, 0xff, 0x80, 0x01} {
				for i := range p {
					p[i] = fill
				}
				for bit := range 8 * n {
					p[bit/8] ^= 1 << (bit % 8)
					if got, want := k.update(0, p, false), updatePortable(0, p); got != want {
						t.Fatalf("%d bytes of %02x, bit %d changed: %08x, want %08x", n, fill, bit, got, want)
					}
					p[bit/8] ^= 1 << (bit % 8)
				}
			}
		}
	})
}

// TestSplits checks updates in two parts, cut at every byte, and in parts of random lengths.
func TestSplits(t *testing.T) {
	p, r := random(t, 2500)
	want := updatePortable(0, p)
	eachKernel(t, func(t *testing.T, k kernel) {
		for i := range len(p) + 1 {
			if got := k.update(k.update(0, p[:i], false), p[i:], true); got != want {
				t.Fatalf("cut at %d: %08x, want %08x", i, got, want)
			}
		}
		for range 200 {
			got, rest := uint32(0), p
			for len(rest) > 0 {
				n := min(r.IntN(400), len(rest))
				got = k.update(got, rest[:n], n%2 == 0)
				rest = rest[n:]
			}
			if got != want {
				t.Fatalf("in random parts: %08x, want %08x", got, want)
			}
		}
	})
}

// blocks are the numbers of bytes after which some kernel does something else.
var blocks = []int{8, 16, 32, 64, 128, 240, 256, 368, 432, 496, 512, 624, 752, 1008, 1024}

// TestLongBuffers checks lengths around each multiple of each block in buffers of up to 4 MiB.
func TestLongBuffers(t *testing.T) {
	most := 4 << 20
	if testmode.Slow() {
		most = 256 << 10
	}
	p, r := random(t, most+64)
	eachKernel(t, func(t *testing.T, k kernel) {
		for n := 1 << 11; n <= most; n *= 2 {
			for _, block := range blocks {
				for around := -1; around <= 1; around++ {
					m, at, crc := min(n/block*block+around, most), r.IntN(64), r.Uint32()
					q := p[at : at+m]
					if got, want := k.update(crc, q, around == 0), updatePortable(crc, q); got != want {
						t.Fatalf("%d bytes at %d after %08x: %08x, want %08x", m, at, crc, got, want)
					}
				}
			}
		}
	})
}

// TestCopy checks the copy, its CRC, and that nothing before and after the copy changes.
func TestCopy(t *testing.T) {
	src, r := random(t, 70_000)
	dst := make([]byte, len(src))
	lengths := []int{65535, 64 << 10, 64<<10 + 1, 69_000}
	for n := 0; n < 2200; n++ {
		lengths = append(lengths, n)
	}
	eachKernel(t, func(t *testing.T, k kernel) {
		for _, n := range lengths {
			from, to, crc := r.IntN(64), 1+r.IntN(64), r.Uint32()
			p, area := src[from:from+n], dst[:to+n+64]
			clear(area)
			if got, want := k.copyAll(crc, area[to:], p), updatePortable(crc, p); got != want {
				t.Fatalf("%d bytes from %d to %d after %08x: %08x, want %08x", n, from, to, crc, got, want)
			}
			if !bytes.Equal(area[to:to+n], p) {
				t.Fatalf("%d bytes from %d to %d: the copy is different", n, from, to)
			}
			if k := bytes.TrimLeft(area[:to], "\x00"); len(k) > 0 {
				t.Fatalf("%d bytes from %d to %d: the bytes before the copy have changed", n, from, to)
			}
			if k := bytes.TrimLeft(area[to+n:], "\x00"); len(k) > 0 {
				t.Fatalf("%d bytes from %d to %d: the bytes behind the copy have changed", n, from, to)
			}
		}
	})
}

// TestCopyPanicsIfShort: no kernel writes beyond dst, even if its array is longer.
func TestCopyPanicsIfShort(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernel) {
		for _, n := range []int{1, 300, 5000} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("no panic for %d bytes and memory for %d", n, n-1)
					}
				}()
				k.copyAll(0, make([]byte, n-1, n), make([]byte, n))
			}()
		}
	})
}

// TestBest checks the exported functions, and that they use the first kernel.
func TestBest(t *testing.T) {
	p, _ := random(t, 5000)
	t.Logf("kernels %v", kernels())
	if best != kernels()[0] {
		t.Errorf("Update uses kernel %v, want %v", best, kernels()[0])
	}
	dst := make([]byte, len(p))
	want := updatePortable(7, p)
	for desc, got := range map[string]uint32{"Update": Update(7, p), "UpdateCold": UpdateCold(7, p), "Copy": Copy(7, dst, p)} {
		if got != want {
			t.Errorf("%s: %08x, want %08x", desc, got, want)
		}
	}
	if !bytes.Equal(dst, p) {
		t.Error("Copy made a different copy")
	}
}

func TestAllocs(t *testing.T) {
	if testmode.Race {
		t.Log("allocations are not counted under the race detector")
		return
	}
	p, q := make([]byte, 1500), make([]byte, 1500)
	eachKernel(t, func(t *testing.T, k kernel) {
		if n := testing.AllocsPerRun(100, func() { sink = k.update(k.copyAll(0, q, p), p, true) }); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	})
}

// FuzzUpdate compares the kernels with the portable one, for data of any length in two parts.
func FuzzUpdate(f *testing.F) {
	for _, n := range append([]int{0, 1, 63, 1500, 4096}, blocks...) {
		f.Add(uint32(n), bytes.Repeat([]byte{byte(n), 1, 2}, n/3+1), n/2)
	}
	f.Fuzz(func(t *testing.T, crc uint32, p []byte, cut int) {
		cut = int(uint(cut) % uint(len(p)+1))
		want := updatePortable(crc, p)
		dst := make([]byte, len(p))
		for _, k := range kernels() {
			for desc, got := range map[string]uint32{
				"whole":  k.update(crc, p, false),
				"cut":    k.update(k.update(crc, p[:cut], true), p[cut:], false),
				"copied": k.copyAll(crc, dst, p),
			} {
				if got != want {
					t.Errorf("%v, %s: %08x, want %08x", k, desc, got, want)
				}
			}
			if !bytes.Equal(dst, p) {
				t.Errorf("%v: the copy is different", k)
			}
			clear(dst)
		}
	})
}

// Example computes the same CRC in two ways.
func Example() {
	whole := Update(0, []byte("123456789"))
	parts := Update(Update(0, []byte("1234")), []byte("56789"))
	fmt.Printf("%08x %08x\n", whole, parts)
	// Output: e3069283 e3069283
}
