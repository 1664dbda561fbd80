//go:build verbs && (amd64 || arm64)

package run

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckedPrograms: each program of testdata/check makes one mistake, which is found, and has a
// twin without it, in which nothing is found. The first line of a program says of which kind the
// mistake is. The log has how many are found, by kind.
func TestCheckedPrograms(t *testing.T) {
	all, err := filepath.Glob("testdata/check/*.c")
	if err != nil || len(all) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	dir := t.TempDir()
	type score struct{ programs, found, alarms int }
	scores := make(map[string]*score)
	for _, source := range all {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		text, err := os.ReadFile(source)
		kind, _, ok := strings.Cut(strings.TrimPrefix(string(text), "// "), ":")
		if err != nil || !ok {
			t.Fatalf("%s: its first line does not name a kind: %v", source, err)
		}
		s := scores[kind]
		if s == nil {
			s = new(score)
			scores[kind] = s
		}
		s.programs++
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, name)
			if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-o", program, source, "-libverbs", "-lrdmacm", "-lpthread").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines, _ := findings(t, checked("timeout", "60", program, "fault"))
			if !strings.Contains(strings.Join(lines, "\n"), "="+kind+" ") {
				t.Errorf("the mistake is not found:\n%s", strings.Join(lines, "\n"))
			} else {
				s.found++
			}
			lines, status := findings(t, checked("timeout", "60", program, "twin"))
			if status != 0 || len(lines) != 1 || !strings.Contains(lines[0], "findings=0 notes=0") {
				s.alarms++
				t.Errorf("the twin has status %d:\n%s", status, strings.Join(lines, "\n"))
			}
		})
	}
	table := fmt.Sprintf("%-14s %8s %6s %12s\n", "kind", "programs", "found", "false alarms")
	for _, kind := range slices.Sorted(maps.Keys(scores)) {
		s := scores[kind]
		table += fmt.Sprintf("%-14s %8d %6d %12d\n", kind, s.programs, s.found, s.alarms)
	}
	t.Logf("\n%s", table)
}
