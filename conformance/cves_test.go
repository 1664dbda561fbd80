package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestCVETable checks that every test that cves.md names is there, and every test with a CVE in its
// name is listed.
func TestCVETable(t *testing.T) {
	table, err := os.ReadFile("cves.md")
	if err != nil {
		t.Fatal(err)
	}
	there, inTable := map[string]bool{}, map[string]bool{}
	for _, pattern := range []string{"../mpa/*_test.go", "../mpa/*_test.go", "../ddp/*_test.go", "../rdmap/*_test.go", "../extsock/*_test.go", "../internal/conn/driver/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
				there[string(m[1])] = true
			}
		}
	}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(table, -1) {
		inTable[string(m[1])] = true
		if !there[string(m[1])] {
			t.Errorf("cves.md names %s, which does not exist", m[1])
		}
	}
	for name := range there {
		if regexp.MustCompile(`^TestCVE_`).MatchString(name) && !inTable[name] {
			t.Errorf("%s is not in cves.md", name)
		}
	}
	if len(inTable) < 30 {
		t.Errorf("%d tests in the table", len(inTable))
	}
}
