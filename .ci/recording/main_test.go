package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRecording: each line of the command is drawn, in its order.
func TestRecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.svg")
	if err := run(file, []string{"sh", "-c", "echo 'a < b'; echo '  c'"}); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil {
		t.Error(err)
	}
	_, text, _ := strings.Cut(string(svg), "<g ")
	for _, want := range []string{">$ sh -c echo", "s\" xml:space=\"preserve\">a &lt; b</text>\n", ">  c</text>\n"} {
		_, rest, found := strings.Cut(text, want)
		if text = rest; !found {
			t.Fatalf("no %q in\n%s", want, svg)
		}
	}
}

// TestTimes: a line appears when it was printed, or sooner after a long pause, and a long line
// makes the picture wider.
func TestTimes(t *testing.T) {
	svg := draw([]line{{0, "$ x"}, {500 * time.Millisecond, strings.Repeat("µ", 100)}, {10 * time.Second, "y"}})
	for _, want := range []string{`animation-delay: 0.00s`, `animation-delay: 0.50s`, `animation-delay: 1.50s`, ` width="878" height="88" viewBox="0 0 878 88"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
}

func TestFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.svg")
	for _, command := range [][]string{nil, {"false"}, {filepath.Join(t.TempDir(), "none")}} {
		if err := run(file, command); err == nil {
			t.Errorf("%q: no error", command)
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a failed command leaves a file: %v", err)
	}
}
