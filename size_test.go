package rddp_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFilesAreSmall: a clone stays small for good, because history keeps what was ever committed.
// So no file of the repository is a build or a capture that belongs elsewhere.
func TestFilesAreSmall(t *testing.T) {
	const most = 512 << 10 // bytes
	if _, err := os.Stat(".git"); err != nil {
		return // a copy of the tree, which may have builds in it
	}
	out, err := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		if s, err := os.Lstat(name); err == nil && s.Size() > most {
			t.Errorf("%s has %d bytes, want at most %d", name, s.Size(), most)
		}
	}
}
