package ddp

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/ddphdr"
)

var benchSum uint64

// sum reads p as a program may that computes something with all of it.
func sum(p []byte) {
	var a, b, c, d uint64
	for ; len(p) >= 32; p = p[32:] {
		a += binary.LittleEndian.Uint64(p)
		b += binary.LittleEndian.Uint64(p[8:])
		c += binary.LittleEndian.Uint64(p[16:])
		d += binary.LittleEndian.Uint64(p[24:])
	}
	benchSum += a + b + c + d
}

// BenchmarkPlaceCold places messages at successive places of a ring, from a segment that is in the
// cache, as the driver's receive buffer is. Then it reads each message or not, by adding its words
// up or by copying it to a buffer of 64 KiB that is in the cache. The rings of 1 and 256 MiB stand
// for memory that is in the cache and for memory that is not.
func BenchmarkPlaceCold(b *testing.B) {
	const segment = 64 << 10
	out := make([]byte, segment)
	reads := []struct {
		name string
		read func(p []byte)
	}{
		{"unread", func([]byte) {}},
		{"sum", sum},
		{"copy", func(p []byte) {
			for ; len(p) > 0; p = p[segment:] {
				copy(out, p[:segment])
			}
		}},
	}
	for _, ring := range []int{1 << 20, 16 << 20, 256 << 20} {
		mem := make([]byte, ring)
		sum(mem) // so that the operating system provides it
		for i := 0; i < len(mem); i += 4096 {
			mem[i] = 1
		}
		for _, size := range []int{64 << 10, 1 << 20} {
			for _, read := range reads {
				b.Run(fmt.Sprintf("ring=%dMiB/size=%dk/%s", ring>>20, size>>10, read.name), func(b *testing.B) {
					p := newPair(b)
					r := p.register(mem, RemoteWrite)
					ulpdu := make([]byte, ddphdr.TaggedHeaderLen+segment)
					b.SetBytes(int64(size))
					b.ReportAllocs()
					for at := 0; b.Loop(); at = (at + size) % ring {
						for off := 0; off < size; off += segment {
							h := ddphdr.TaggedHeader{Last: off+segment == size, STag: uint32(r.STag()), TO: r.TO() + uint64(at+off)}
							h.AppendTo(ulpdu[:0])
							p.r.Place(p.off, ulpdu)
							p.off += fpduLen(ulpdu)
						}
						if !p.r.Deliver(p.off) {
							b.Fatal(p.r.Err())
						}
						read.read(mem[at : at+size])
					}
				})
			}
		}
	}
}
