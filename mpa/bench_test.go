package mpa

import (
	"fmt"
	"testing"
)

// benchSizes are ULPDU lengths: a small message, a TCP segment on Ethernet, and the maximum.
var benchSizes = []struct {
	name string
	n    int
}{{"64B", 64}, {"1.4KiB", 1442}, {"64KiB", MaxULPDU}}

func benchEach(b *testing.B, f func(b *testing.B, crc, markers bool, n int)) {
	for _, size := range benchSizes {
		for _, crc := range []bool{true, false} {
			for _, markers := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/crc=%v/markers=%v", size.name, crc, markers), func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(int64(size.n))
					f(b, crc, markers, size.n)
				})
			}
		}
	}
}

// BenchmarkSender appends one ULPDU of a header and one piece of payload. SetBytes counts ULPDUs.
func BenchmarkSender(b *testing.B) {
	benchEach(b, func(b *testing.B, crc, markers bool, n int) {
		p := newPipe(crc, markers, n)
		for b.Loop() {
			if p.b.Full() {
				p.b.Reset()
			}
			p.s.Append(p.b, false, p.header, p.payload...)
		}
	})
}

// BenchmarkReceiver receives one ULPDU in each round, from a buffer of 256 KiB that is filled with
// whole FPDUs. The figure includes the copy that replaces the read.
func BenchmarkReceiver(b *testing.B) {
	benchEach(b, func(b *testing.B, crc, markers bool, n int) {
		// The stream repeats itself after this many bytes: FPDUs begin at all phases, then at phase
		// 0 again.
		s, batch := NewSender(Agreement{CRC: crc, TxMarkers: markers}), NewBatch(scratchLen)
		ulpdu := counting(0, n)
		var stream []byte
		var begins []int
		for len(stream) < 256<<10 || markers && s.Off()%markerInterval != 0 {
			begins = append(begins, len(stream))
			batch.Reset()
			s.Append(batch, false, ulpdu)
			for _, piece := range batch.Bufs() {
				stream = append(stream, piece...)
			}
		}
		begins = append(begins, len(stream))
		r := NewReceiver(Agreement{CRC: crc, RxMarkers: markers})
		r.SetBuffer(make([]byte, 256<<10))
		off, at := uint64(0), 0 // at: index of the next FPDU to read
		for b.Loop() {
			if r.Next() {
				continue
			}
			free := r.Free()
			last := at + 1
			for last < len(begins)-1 && begins[last+1]-begins[at] <= len(free) {
				last++
			}
			k := copy(free, stream[begins[at]:begins[last]])
			r.Fill(off, k)
			off += uint64(k)
			if at = last; at == len(begins)-1 {
				at = 0
			}
			if !r.Next() {
				b.Fatal(r.Err())
			}
		}
	})
}
