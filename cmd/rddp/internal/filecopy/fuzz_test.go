package filecopy

import "testing"

// FuzzParseName: a remote name does not lead outside the served directory, and is the same after
// String and ParseName.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"", "a", "dir/", "rddp://host/a/b", "rddp://[::1]:7/x/", "rddp://h//./a", "rddp://h/../a", "rddp://h:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		if !n.IsRemote() {
			if n.Path != s {
				t.Errorf("ParseName(%q) = %+v, which is another name", s, n)
			}
			return
		}
		if err := checkPath(n.Path); err != nil {
			t.Errorf("ParseName(%q) let %q through: %v", s, n.Path, err)
		}
		if again, err := ParseName(n.String()); err != nil || again.Address != n.Address || again.Path != n.Path {
			t.Errorf("ParseName(%q) = %+v, written %q, read again %+v, %v", s, n, n.String(), again, err)
		}
	})
}
