package place

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// random returns n bytes, and the source of more. It logs the seed.
func random(t testing.TB, n int) ([]byte, *rand.Rand) {
	r := prototest.Seeded(t)
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

// guard is how many bytes on each side of a copy a test looks at.
const guard = 2 * line

// A copyTest copies pieces of src to area with each alignment, and checks area. No two successive
// copies leave the same bytes in area.
type copyTest struct {
	src, area []byte
	fill      byte
}

func newCopyTest(src []byte, most int) *copyTest {
	area := make([]byte, most+3*guard)
	return &copyTest{src: src, area: area[align(area):]}
}

// check copies n bytes from offset from of src to the place that is to bytes after a multiple of
// line, and checks the copy and the bytes around it.
func (c *copyTest) check(t *testing.T, f func(dst, src []byte), n, from, to int) {
	t.Helper()
	c.fill++
	area := c.area[:guard+to+n+guard]
	for i := range area {
		area[i] = c.fill
	}
	p := c.src[from : from+n]
	f(area[guard+to:guard+to+n], p)
	if !bytes.Equal(area[guard+to:guard+to+n], p) {
		t.Fatalf("%d bytes from %d to %d: the copy is different", n, from, to)
	}
	for i, b := range area[:guard+to] {
		if b != c.fill {
			t.Fatalf("%d bytes from %d to %d: the byte %d before the copy has changed", n, from, to, guard+to-i)
		}
	}
	for i, b := range area[guard+to+n:] {
		if b != c.fill {
			t.Fatalf("%d bytes from %d to %d: the byte %d behind the copy has changed", n, from, to, i)
		}
	}
}

// TestLengthsAndAlignments checks the lengths up to several lines, with each alignment of the
// destination and with several of the source.
func TestLengthsAndAlignments(t *testing.T) {
	const most = 5*line + 1
	src, r := random(t, most+line)
	c := newCopyTest(src, most+line)
	eachKernel(t, func(t *testing.T, k kernel) {
		for n := range most + 1 {
			for to := range line {
				c.check(t, k.copyLines, n, to, to) // source and destination at the same place of a line
				c.check(t, k.copyLines, n, r.IntN(line), to)
				if !testmode.Slow() {
					c.check(t, k.copyLines, n, 0, to)
					c.check(t, k.copyLines, n, line-1, to)
				}
			}
		}
	})
}

// TestLongCopies checks Copy and each kernel, with lengths around the shortest
// that leaves plain, around that of an FPDU, and around powers of two.
func TestLongCopies(t *testing.T) {
	most := 4 << 20
	if testmode.Slow() {
		most = 256 << 10
	}
	src, r := random(t, most+2*line)
	c := newCopyTest(src, most+2*line)
	lengths := []int{least, 64746, 65507}
	for n := least / 2; n <= most; n *= 2 {
		lengths = append(lengths, n)
	}
	check := func(t *testing.T, f func(dst, src []byte)) {
		for _, n := range lengths {
			for _, around := range []int{-line, -1, 0, 1, line} {
				c.check(t, f, min(n+around, most), r.IntN(line), r.IntN(line))
			}
			c.check(t, f, n, 0, 0)
		}
	}
	eachKernel(t, func(t *testing.T, k kernel) { check(t, k.copy) })
	t.Run("Copy", func(t *testing.T) { check(t, Copy) })
}

// TestLongerDestination: the bytes of dst after the copy do not change.
func TestLongerDestination(t *testing.T) {
	src, _ := random(t, 2*least)
	eachKernel(t, func(t *testing.T, k kernel) {
		for _, n := range []int{0, 1, 100, least - 1, least, least + 1, 2 * least} {
			dst := bytes.Repeat([]byte{0xA5}, 3*least)
			k.copy(dst, src[:n])
			if !bytes.Equal(dst[:n], src[:n]) {
				t.Fatalf("%d bytes: the copy is different", n)
			}
			if rest := bytes.TrimLeft(dst[n:], "\xA5"); len(rest) > 0 {
				t.Fatalf("%d bytes: the bytes behind the copy have changed", n)
			}
		}
	})
}

// TestPanicsIfShort: no kernel writes beyond dst, even if its array is longer.
func TestPanicsIfShort(t *testing.T) {
	eachKernel(t, func(t *testing.T, k kernel) {
		for _, n := range []int{1, 300, least, least + 1} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("no panic for %d bytes and memory for %d", n, n-1)
					}
				}()
				k.copy(make([]byte, n-1, 2*n), make([]byte, n))
			}()
		}
	})
}

// TestOtherGoroutineSeesTheCopy: a goroutine that receives from a channel after the copy sees all
// of it.
func TestOtherGoroutineSeesTheCopy(t *testing.T) {
	src, _ := random(t, least+line)
	rounds := testmode.Count(20_000, 2_000)
	eachKernel(t, func(t *testing.T, k kernel) {
		dst := make([]byte, 2*len(src))
		next, seen := make(chan []byte), make(chan bool)
		go func() {
			for p := range next {
				seen <- bytes.Equal(p, src)
			}
			close(seen)
		}()
		for i := range rounds {
			p := dst[i%len(src):][:len(src)]
			src[i%len(src)]++
			k.copy(p, src)
			next <- p
			if !<-seen {
				t.Fatalf("round %d: the other goroutine sees other bytes", i)
			}
		}
		close(next)
		<-seen
	})
}

func TestAllocs(t *testing.T) {
	if testmode.Race {
		t.Log("allocations are not counted under the race detector")
		return
	}
	src, dst := make([]byte, 2*least), make([]byte, 2*least)
	if n := testing.AllocsPerRun(100, func() { Copy(dst, src[:100]); Copy(dst, src) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzCopy compares the kernels with Go's copy, for data of any length between any two alignments.
func FuzzCopy(f *testing.F) {
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 1500, least - 1, least, least + 100} {
		f.Add(bytes.Repeat([]byte{byte(n), 1, 2}, n/3+1), uint8(n), uint8(3*n))
	}
	f.Fuzz(func(t *testing.T, p []byte, from, to uint8) {
		c := newCopyTest(append(make([]byte, from), p...), len(p)+256)
		for _, k := range kernels() {
			c.check(t, k.copyLines, len(p), int(from), int(to))
			c.check(t, k.copy, len(p), int(from), int(to))
		}
	})
}
