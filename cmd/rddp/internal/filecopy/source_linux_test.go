package filecopy

import (
	"path/filepath"
	"testing"
)

// A file with more bytes than its size, as in Linux's /proc, is refused, because the copy would be
// incomplete.
func TestSourceWithoutSize(t *testing.T) {
	const dir, name = "/proc/self", "status"
	here := t.TempDir()
	down, up := serveDir(t, dir, "127.0.0.1:0", nil), serve(t, nil)
	cp(t, Config{}, local(here), down.name(name)).wantFailure(t, ErrChanged, "more bytes than its size")
	cp(t, Config{}, up.name("."), local(filepath.Join(dir, name))).wantFailure(t, ErrChanged, "more bytes than its size")
	up.stop() // the server closes its part when the client has gone
	for _, dir := range []string{here, up.dir} {
		if names := tree(t, dir); len(names) > 0 {
			t.Errorf("%v are there", names)
		}
	}
}
