package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

func TestModelUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"extra", `unexpected argument "extra"`},
		{"--link 3", `--link: "3" is not one of`},
		{"--size 4x", `--size: "4x"`},
		{"--size 0", `--size: "0" is not a size`},
		{"--checksum none", `--checksum: "none" is neither`},
	} {
		status, stdout, stderr := runs(t, []*cli.Command{modelCommand()}, append([]string{"model"}, strings.Fields(test.args)...)...)
		if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "rddp model: ") || !strings.Contains(stderr, test.want) {
			t.Errorf("rddp model %s: status %d, stdout %q, stderr %q, want %q", test.args, status, stdout, stderr, test.want)
		}
	}
}

func TestModel(t *testing.T) {
	status, stdout, stderr := runs(t, []*cli.Command{modelCommand()}, "model", "--link", "10,400", "--size", "1,4k", "--checksum", "separate")
	if status != exitOK || stderr != "" || strings.Count(stdout, "Gb/s: bus") != 2 || !strings.Contains(stdout, "20 ps/B apart") {
		t.Errorf("rddp model: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	status, stdout, stderr = runs(t, []*cli.Command{modelCommand()}, "model", "--link", "1", "--size", "64", "--json")
	if status != exitOK || stderr != "" || strings.Count(stdout, "\n") != 3 {
		t.Errorf("rddp model --json: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}
