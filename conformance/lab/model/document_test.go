package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// docs/engine.md contains the command's output. A test of package figures compares its plots.
func TestDocument(t *testing.T) {
	const document = "../../../docs/engine.md"
	r, err := Run(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```text\n"+text.String()+"```\n") {
		t.Errorf("docs/engine.md does not have the tables that this prints: go run -C conformance/lab ./model")
	}
}
