package place

import (
	"fmt"
	"testing"
)

// benchAreas say where the destination is. Each round takes the next piece of that many bytes.
var benchAreas = []struct {
	name string
	size int // 0: the same piece each time
}{{"hot", 0}, {"1MiB", 1 << 20}, {"16MiB", 16 << 20}, {"cold", 256 << 20}}

// BenchmarkCopy measures each kernel with a source in the cache, as the receive buffer is, whose
// payload begins 18 bytes after a line. The benchmarks of package ddp measure the cost of reading
// such a copy again.
func BenchmarkCopy(b *testing.B) {
	mem, src := make([]byte, 256<<20), make([]byte, 256<<10)
	for i := 0; i < len(mem); i += 4096 { // so that the operating system provides it
		mem[i] = byte(i)
	}
	for _, area := range benchAreas {
		for _, n := range []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
			for _, k := range kernels() {
				b.Run(fmt.Sprintf("%s/%d/%s", area.name, n, k), func(b *testing.B) {
					b.SetBytes(int64(n))
					b.ReportAllocs()
					at := 0
					for b.Loop() {
						k.copyLines(mem[at:at+n], src[18:18+n])
						if at += n; at+n > area.size {
							at = 0
						}
					}
				})
			}
		}
	}
}
