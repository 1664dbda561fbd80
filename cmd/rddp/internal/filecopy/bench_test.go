package filecopy

import (
	"path/filepath"
	"testing"
)

// BenchmarkCopy copies 256 MiB over loopback, from file to file, with both sums and fsync.
func BenchmarkCopy(b *testing.B) {
	const size = 256 << 20
	for _, way := range ways {
		b.Run(way.desc, func(b *testing.B) {
			v, here := serve(b, &ServerConfig{Writable: true}), b.TempDir()
			from, to, src, dst := side(v, way.up, here)
			put(b, filepath.Join(from, "f"), content(size, 1))
			b.SetBytes(size)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				// A new name each time, or nothing would have to cross.
				n++
				dst.Path = filepath.ToSlash(filepath.Join(filepath.Dir(dst.Path), "f"+string(rune('0'+n%10))))
				remove(b, filepath.Join(to, filepath.Base(dst.Path)))
				if o := mustCopy(b, Config{}, dst, src); o.Octets != size {
					b.Fatalf("%+v", o.Summary)
				}
			}
		})
	}
}

// BenchmarkSmallFiles copies 200 files of 1 kB, each of which is flushed to disk.
func BenchmarkSmallFiles(b *testing.B) {
	const files, size = 200, 1000
	for _, way := range ways {
		b.Run(way.desc, func(b *testing.B) {
			v, here := serve(b, &ServerConfig{Writable: true}), b.TempDir()
			from, to, src, dst := side(v, way.up, here)
			for i := range files {
				put(b, filepath.Join(from, "f", string(rune('a'+i%26))+string(rune('a'+i/26))), content(size, 1))
			}
			b.SetBytes(files * size)
			for b.Loop() {
				remove(b, filepath.Join(to, "f"))
				mustCopy(b, Config{Recursive: true}, dst, src)
			}
		})
	}
}
