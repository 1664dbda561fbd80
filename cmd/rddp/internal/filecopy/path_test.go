package filecopy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	tests := []struct {
		in   string
		want Name
	}{
		{"a/b", Name{Path: "a/b"}},
		{"a/", Name{Path: "a/", Directory: true}},
		{"host:7174/a", Name{Path: "host:7174/a"}},
		{"rddp:/a", Name{Path: "rddp:/a"}},
		{"rddp://host/a", Name{"host:7174", "a", false}},
		{"rddp://host", Name{"host:7174", ".", false}},
		{"rddp://host/", Name{"host:7174", ".", true}},
		{"rddp://host:80//a/./b/", Name{"host:80", "a/b", true}},
		{"rddp://127.0.0.1/a%20b", Name{"127.0.0.1:7174", "a%20b", false}},
		{"rddp://[::1]/a", Name{"[::1]:7174", "a", false}},
		{"rddp://[fe80::1%eth0]:99/a:b", Name{"[fe80::1%eth0]:99", "a:b", false}},
	}
	for _, tt := range tests {
		got, err := ParseName(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseName(%q) = %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
		again, err := ParseName(got.String())
		again.Directory = got.Directory
		if err != nil || again != got {
			t.Errorf("%+v as a string is %q, which is %+v, %v", got, got.String(), again, err)
		}
	}
	for _, in := range []string{
		"", "rddp://", "rddp:///a", "rddp://::1/a", "rddp://host:/a", "rddp://[::1/a", "rddp://a:b:c/d",
		"rddp://host/../a", "rddp://host/a/..", "rddp://host/a\x00b", "rddp://host/.a.rddp-part",
		"rddp://host/" + strings.Repeat("x", maxName+1),
	} {
		if got, err := ParseName(in); err == nil {
			t.Errorf("ParseName(%q) = %+v", in, got)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for _, p := range []string{".", "a", "a/b c/…", "..a", "a..", "...", "-", "\xff"} {
		if err := checkPath(p); err != nil {
			t.Errorf("checkPath(%q) = %v", p, err)
		}
	}
	for _, p := range badPaths {
		if err := checkPath(p); !errors.Is(err, ErrPath) && !errors.Is(err, ErrUnfinished) {
			t.Errorf("checkPath(%q) = %v, want %v", p, err, ErrPath)
		}
	}
}

// badPaths are paths that no peer may use.
var badPaths = []string{
	"", "..", "../a", "a/..", "a/../../b", "/etc/passwd", "//a", "a//b", "a/", "./a", "a/.", "a\x00b",
	strings.Repeat("a/", maxPath/2) + "bc", strings.Repeat("n", maxName+1), ".f.rddp-part", "d/.f.rddp-part-of", ".f.rddp-part/x",
}

func TestPartNames(t *testing.T) {
	tests := []struct{ name, part, note string }{
		{"f", ".f.rddp-part", ".f.rddp-part-of"},
		{"d/e/f", "d/e/.f.rddp-part", "d/e/.f.rddp-part-of"},
	}
	for _, tt := range tests {
		if part, note := partNames(tt.name); part != tt.part || note != tt.note {
			t.Errorf("partNames(%q) = %q, %q", tt.name, part, note)
		}
	}
	seen := map[string]bool{}
	for n := 200; n <= maxName; n++ {
		part, note := partNames(strings.Repeat("n", n))
		if len(part) > maxName || len(note) > maxName || !isPartName(part) || !isPartName(note) || seen[part] {
			t.Errorf("partNames of %d bytes = %q, %q", n, part, note)
		}
		seen[part] = true
	}
}

func ExampleParseName() {
	n, err := ParseName("rddp://[::1]/photos/")
	fmt.Println(n.Address, n.Path, n.Directory, err)
	n, err = ParseName("photos")
	fmt.Println(n.IsRemote(), n.Path, err)
	// Output:
	// [::1]:7174 photos true <nil>
	// false photos <nil>
}
