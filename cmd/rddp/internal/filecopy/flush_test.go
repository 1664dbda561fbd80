package filecopy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestFlushed: a part is flushed to disk before the file gets its name. The names of files and
// directories are flushed by the end of the copy.
func TestFlushed(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			var mu sync.Mutex
			flushed := make(map[string][]string) // by flushed part or directory: the names in its directory at that time
			flush := flushFile
			defer func() { flushFile = flush }()
			flushFile = func(f *os.File) error {
				mu.Lock()
				defer mu.Unlock()
				name := filepath.Clean(f.Name())
				dir := name
				if strings.HasSuffix(dir, partSuffix) {
					dir = filepath.Dir(dir)
				}
				entries, err := os.ReadDir(dir)
				for _, e := range entries {
					flushed[name] = append(flushed[name], e.Name())
				}
				if err != nil {
					t.Error(err)
				}
				return flush(f)
			}
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			put(t, filepath.Join(from, "s", "f"), content(100, 1))
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			v.stop() // the server has flushed the names
			mu.Lock()
			defer mu.Unlock()
			part, _ := partNames("f")
			if at := flushed[filepath.Join(to, "s", part)]; !slices.Contains(at, part) || slices.Contains(at, "f") {
				t.Errorf("there were %q when the part was flushed, want the part and not the file", at)
			}
			if at := flushed[filepath.Join(to, "s")]; !slices.Contains(at, "f") {
				t.Errorf("there were %q when the directory of the file was flushed", at)
			}
			if at := flushed[to]; !slices.Contains(at, "s") {
				t.Errorf("there were %q when the directory above was flushed", at)
			}
		})
	}
}
