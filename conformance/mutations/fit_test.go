package mutations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rddp/rddp/conformance/requirements"
)

const root = "../.."

// TestFaultsFit: each fault can be planted in the code as it is, and a test is named to find it.
func TestFaultsFit(t *testing.T) {
	if len(Faults) < 30 {
		t.Errorf("%d faults, want at least 30", len(Faults))
	}
	tests, err := requirements.Tests(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Faults {
		src, err := os.ReadFile(filepath.Join(root, f.File))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(src), f.Old); n != 1 || f.Old == f.New {
			t.Errorf("%s: %s has %d places for it", f.Name, f.File, n)
		}
		if len(f.runs(tests)) == 0 {
			t.Errorf("%s: no test covers %v", f.Name, f.IDs)
		}
	}
}
