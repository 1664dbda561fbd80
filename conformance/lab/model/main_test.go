package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"extra":    `unexpected argument "extra"`,
		"-link 3":  `-link: "3" is not one of`,
		"-size 4x": `invalid value "4x" for flag -size`,
		"-size 0":  `-size: 0 is not between`,
	} {
		var stdout, stderr bytes.Buffer
		if err := run(strings.Fields(args), &stdout, &stderr); err == nil || !strings.Contains(err.Error(), want) || stdout.Len() > 0 {
			t.Errorf("model %s: %v, %q, want %q", args, err, &stdout, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if err := run(strings.Fields("-link 10,400 -size 1,4096 -separate"), &stdout, &stderr); err != nil || strings.Count(stdout.String(), "Gb/s: bus") != 2 || !strings.Contains(stdout.String(), "20 ps/B apart") {
		t.Errorf("model: %v, %s", err, &stdout)
	}
	stdout.Reset()
	if err := run(strings.Fields("-link 1 -size 64 -json"), &stdout, &stderr); err != nil || strings.Count(stdout.String(), "\n") != 3 {
		t.Errorf("model -json: %v, %s", err, &stdout)
	}
}
