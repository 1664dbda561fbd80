package model

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/engine.md and its plots show what the command prints. The plots are compared by the values
// of their points.
func TestDocument(t *testing.T) {
	const docs = "../../../../docs/engine"
	r, err := Run(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	const how = "go run ./cmd/rddp model --svg docs/engine"
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(docs + ".md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```text\n"+text.String()+"```\n") {
		t.Errorf("docs/engine.md does not have the tables that this prints: %s", how)
	}
	points := regexp.MustCompile(`<title>.*?</title>`)
	for name, chart := range map[string]string{"-latency.svg": r.Latency().Document(), "-bandwidth.svg": r.Bandwidth().Document()} {
		file, err := os.ReadFile(docs + name)
		if err != nil {
			t.Fatal(err)
		}
		want := points.FindAllString(chart, -1)
		if got := points.FindAllString(string(file), -1); len(want) != 5*2*11 || !slices.Equal(got, want) {
			t.Errorf("docs/engine%s has other points than this draws: %s", name, how)
		}
	}
}
