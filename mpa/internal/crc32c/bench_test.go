package crc32c

import (
	"fmt"
	stdcrc32 "hash/crc32"
	"testing"
)

var sink uint32

// areas say where the data of a benchmark are. Each round takes the next piece of that many bytes.
var areas = []struct {
	name string
	size int // 0: the same piece each time
}{{"hot", 0}, {"16MiB", 16 << 20}, {"cold", 256 << 20}}

var benchSizes = []int{16, 64, 256, 1460, 4 << 10, 16 << 10, 64 << 10, 1 << 20}

// benchEach measures f for each area and size.
func benchEach(b *testing.B, name string, mem []byte, f func(p []byte) uint32) {
	for _, area := range areas {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d/%s", area.name, n, name), func(b *testing.B) {
				b.SetBytes(int64(n))
				at := 0
				for b.Loop() {
					sink = f(mem[at : at+n])
					if at += n; at+n > area.size {
						at = 0
					}
				}
			})
		}
	}
}

// touched returns memory that the operating system has provided.
func touched(n int) []byte {
	mem := make([]byte, n)
	for i := range mem {
		mem[i] = byte(i)
	}
	return mem
}

// BenchmarkUpdate measures each kernel, with and without prefetching, and package hash/crc32. The
// kernel portable is github.com/klauspost/crc32.
func BenchmarkUpdate(b *testing.B) {
	mem := touched(256 << 20)
	table := stdcrc32.MakeTable(stdcrc32.Castagnoli)
	benchEach(b, "hash/crc32", mem, func(p []byte) uint32 { return stdcrc32.Update(0, table, p) })
	for _, k := range kernels() {
		benchEach(b, k.String(), mem, func(p []byte) uint32 { return k.update(0, p, false) })
		if k != portable {
			benchEach(b, k.String()+"+prefetch", mem, func(p []byte) uint32 { return k.update(0, p, true) })
		}
	}
}

// BenchmarkCopy measures a copy and the CRC of the copy, in one pass where the kernel can and in
// two. The pieces go one after the other to a buffer of 1 MiB.
func BenchmarkCopy(b *testing.B) {
	mem, buf := touched(256<<20), touched(1<<20)
	at := 0
	next := func(n int) []byte {
		if at+n > len(buf) {
			at = 0
		}
		at += n
		return buf[at-n : at]
	}
	for _, k := range kernels() {
		benchEach(b, k.String(), mem, func(p []byte) uint32 { return k.copyAll(0, next(len(p)), p) })
		benchEach(b, k.String()+"+twice", mem, func(p []byte) uint32 {
			to := next(len(p))
			copy(to, p)
			return k.update(0, to, false)
		})
	}
}
