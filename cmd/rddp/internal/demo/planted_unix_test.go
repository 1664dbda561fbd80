//go:build unix

package demo

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPlantedCapture: a link or FIFO that another user has planted under the name of the capture,
// or of its part, is replaced. It is not followed or opened.
func TestPlantedCapture(t *testing.T) {
	for desc, plant := range map[string]func(name string) error{
		"a link": func(name string) error { return os.Symlink("victim", name) },
		"a FIFO": func(name string) error { return syscall.Mkfifo(name, 0o666) },
	} {
		for _, suffix := range []string{"", partSuffix} {
			t.Run(desc+suffix, func(t *testing.T) {
				dir := t.TempDir()
				victim, name := filepath.Join(dir, "victim"), filepath.Join(dir, "x.pcapng")
				if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), plant(name+suffix)); err != nil {
					t.Fatal(err)
				}
				f, finish, err := create(name, false)
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.WriteString("capture")
				if err := finish(err); err != nil {
					t.Fatal(err)
				}
				for name, want := range map[string]string{victim: "precious", name: "capture"} {
					if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
						t.Errorf("%s is %v, %v", name, info, err)
					} else if b, err := os.ReadFile(name); err != nil || string(b) != want {
						t.Errorf("%s has %q, %v", name, b, err)
					}
				}
			})
		}
	}
}
