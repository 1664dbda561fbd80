//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCompletionInBash has bash complete a command line.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	_, script, _ := runs(t, commands(), "completion", "bash")
	command := "#!/bin/sh\n" + commandEnv + `=1 exec "` + os.Args[0] + `" "$@"` + "\n"
	for name, text := range map[string]string{"script": script, "rddp": command} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", `PATH="`+dir+`:$PATH"
source "`+filepath.Join(dir, "script")+`"
for words in "rddp ping --inter" "rddp ser" "rddp ping --max-conn"; do
	COMP_WORDS=($words) COMP_LINE="$words" COMP_POINT=${#words}
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	__rddp_bash_autocomplete
	echo "$words: ${COMPREPLY[*]}"
done`)
	out, err := cmd.CombinedOutput()
	if want := "rddp ping --inter: --interval\nrddp ser: serve\nrddp ping --max-conn: \n"; err != nil || string(out) != want {
		t.Errorf("bash completes\n%s, %v, want\n%s", out, err, want)
	}
}
