package report

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

var page = Document{File: "f", Make: "table"}

var (
	begin    = page.beginMarker()
	document = "# Title\n" + begin + "\nold\n" + endMarker + "\nmore\n"
	changed  = "# Title\n" + begin + "\n\nnew\n\n" + endMarker + "\nmore\n"
)

func TestReplace(t *testing.T) {
	got, err := page.Replace(document, "new\n")
	if got != changed || err != nil {
		t.Errorf("%q, %v, want %q", got, err, changed)
	}
	if again, err := page.Replace(got, "new\n"); again != got || err != nil {
		t.Errorf("a second time: %q, %v", again, err)
	}
	for _, bad := range []string{"", begin + "\n", endMarker + "\n" + begin + "\n", document + document} {
		wrong := (*MarkerError)(nil)
		if got, err := page.Replace(bad, "new"); !errors.As(err, &wrong) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

// TestWrite writes a document and a plot. A document without markers stays unchanged, and Check
// reports it before.
func TestWrite(t *testing.T) {
	p := page
	p.File = filepath.Join(t.TempDir(), "page.md")
	if err := p.Check(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Check without a file: %v", err)
	}
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{{"no markers", "no markers", false}, {document, changed, true}} {
		if err := os.WriteFile(p.File, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); (err == nil) != tt.ok {
			t.Errorf("Check of %q: %v", tt.text, err)
		}
		plot := filepath.Join(filepath.Dir(p.File), "plot.svg")
		if err := p.Write("new", map[string]string{"plot.svg": "<svg/>"}); (err == nil) != tt.ok {
			t.Errorf("Write to %q: %v", tt.text, err)
		}
		if got := ReadText(p.File); got != tt.want {
			t.Errorf("the document is %q, want %q", got, tt.want)
		}
		if got := ReadText(plot); (got == "<svg/>") != tt.ok {
			t.Errorf("the plot is %q", got)
		}
	}
}

func TestField(t *testing.T) {
	const text = "a : 1\nname\t: x y \nname: z\n"
	for name, want := range map[string]string{"a": "1", "name": "x y", "none": ""} {
		if got := Field(text, name); got != want {
			t.Errorf("Field(%q) = %q, want %q", name, got, want)
		}
	}
}
