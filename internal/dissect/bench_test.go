package dissect

import (
	"bytes"
	"io"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"peer-65536-crc", "peer-65536-mtu65536-nocrc", "rping-64-crc"} {
		b.Run(name, func(b *testing.B) {
			file := load(b, captureDir+"/"+name+".pcap")
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Read(bytes.NewReader(file), func(Record) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFlowSent(b *testing.B) {
	for _, tt := range []struct {
		name string
		n    int
	}{{"1KiB", 1 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}} {
		b.Run(tt.name, func(b *testing.B) {
			w := newWriter(b, io.Discard)
			f := w.Flow(nil, nil, true)
			p := make([]byte, tt.n)
			b.SetBytes(int64(tt.n))
			b.ReportAllocs()
			for b.Loop() {
				f.Sent(p)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
