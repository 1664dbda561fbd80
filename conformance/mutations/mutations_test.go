//go:build mutations

package mutations

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/conformance/requirements"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)|^panic: (.*)|^fatal error: (.*)`)

// TestEachFaultIsCaught plants the faults, one in each run of the tests, in an overlay: no file of
// the tree changes.
func TestEachFaultIsCaught(t *testing.T) {
	tests, err := requirements.Tests(root)
	if err != nil {
		t.Fatal(err)
	}
	faults := testmode.Share(t, Faults)
	var caught atomic.Int64
	t.Run("faults", func(t *testing.T) {
		for _, f := range faults {
			t.Run(f.File+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				by := f.catch(t, tests)
				if by == "" {
					t.Errorf("%s: not caught", f.File)
					return
				}
				caught.Add(1)
				t.Logf("%s: %s", f.File, by)
			})
		}
	})
	t.Logf("%d of %d faults caught", caught.Load(), len(faults))
}

// catch returns which tests fail with the fault, "" if none.
func (f *Fault) catch(t *testing.T, tests []requirements.Test) string {
	overlay := f.overlay(t)
	for _, r := range f.runs(tests) {
		// Without vet: the tests have to find the fault, not a tool that thinks the line odd.
		cmd := exec.Command("go", "test", "-overlay="+overlay, "-tags="+r.tags, "-vet=off", "-timeout=3m", "-run="+r.pattern, ".")
		cmd.Dir = filepath.Join(root, r.folder) // which may be of another module
		// A test of pgregory.net/rapid that fails writes how to a file of the tree, and takes long
		// to find the shortest way.
		cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1", "RAPID_SHRINKTIME=1s")
		out, err := cmd.CombinedOutput()
		switch {
		case err == nil:
		case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
			t.Fatalf("%s does not build: %s", f.Name, out)
		case strings.Contains(string(out), "panic: test timed out") && !strings.Contains(string(out), "--- FAIL: "):
			// It may be the fault that stands still, or the machine that is too slow.
			t.Fatalf("%s: no test fails in %s within its time: %s", f.Name, r.folder, lastOf(out))
		default:
			var names []string
			for _, m := range failed.FindAllStringSubmatch(string(out), 3) {
				names = append(names, m[1]+m[2]+m[3])
			}
			if len(names) == 0 {
				t.Fatalf("%s: the tests of %s end with %v and none of them fails: %s", f.Name, r.folder, err, lastOf(out))
			}
			return r.folder + " " + strings.Join(names, ", ")
		}
	}
	return ""
}

// lastOf returns the end of what a test printed.
func lastOf(out []byte) []byte { return out[max(0, len(out)-4000):] }

// overlay writes the changed file and returns the name of the overlay that puts it in place.
func (f *Fault) overlay(t *testing.T) string {
	file, err := filepath.Abs(filepath.Join(root, f.File))
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(src), f.Old, f.New, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
