package proxy

import "testing"

// FuzzParseAddress: an accepted address is the same after String and ParseAddress.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"", ":80", "host:80", "unix:/tmp/s", "unix:", "rddp://", "rddp://h", "rddp://[::1]:9", "rddp://:1/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		if a.Address == "" || a.DDP && a.Network != "tcp" {
			t.Errorf("ParseAddress(%q) = %+v", s, a)
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("ParseAddress(%q) = %+v, written %q, read again %+v, %v", s, a, a.String(), again, err)
		}
	})
}
