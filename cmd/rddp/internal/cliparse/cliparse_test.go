package cliparse

import (
	"math"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, tt := range []struct{ in, port, want string }{
		{"far", "7174", "far:7174"},
		{"far:1", "7174", "far:1"},
		{"far:1", "", "far:1"},
		{":1", "7174", ":1"},
		{":0", "", ":0"},
		{"127.0.0.1", "7174", "127.0.0.1:7174"},
		{"127.0.0.1:65535", "7174", "127.0.0.1:65535"},
		{"::1", "7174", "[::1]:7174"},
		{"::", "7174", "[::]:7174"},
		{"[::1]", "7174", "[::1]:7174"},
		{"[::1]:80", "", "[::1]:80"},
		{"fe80::1%eth0", "7174", "[fe80::1%eth0]:7174"},
		{"[fe80::1%eth0]:1", "7174", "[fe80::1%eth0]:1"},
		{"[fe80::1%25]:1", "7174", "[fe80::1%25]:1"}, // the index of an interface
		{"[fe80::1%251]:1", "7174", "[fe80::1%251]:1"},
		{"a-b_c.example.", "7174", "a-b_c.example.:7174"},
		{"bücher.example", "7174", "bücher.example:7174"},
	} {
		if got, err := ParseAddress(tt.in, tt.port); err != nil || got != tt.want {
			t.Errorf("ParseAddress(%q, %q) = %q, %v, want %q", tt.in, tt.port, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ in, port, want string }{
		{"", "7174", "write HOST, HOST:PORT or :PORT"},
		{"7174", "7174", "7174 is no host; for a port on all addresses write :7174"},
		{"far", "", "has no port: write HOST:PORT"},
		{"far:", "7174", "the port is a number"},
		{"far:http", "7174", "the port is a number"},
		{"far:70000", "7174", "the port is a number from 0 to 65535"},
		{"far:-1", "7174", "the port is a number"},
		{"far:+1", "7174", "the port is a number"},
		{"far:01", "7174", "the port is a number"},
		{"::1:80:", "7174", "several colons"},
		{"127.0.0.1:7174:7174", "7174", "several colons"},
		{"[::1", "7174", "no closing bracket"},
		{"[far]:1", "7174", "only an IPv6 address is in brackets"},
		{"[::1]1", "7174", "after the bracket"},
		{"::%]", "7174", `']' is not in the name of a host`},
		{"[fe80::1%25eth0]:1", "7174", "the zone has no percent-escape: write %eth0"},
		{"fe80::1%25eth0", "7174", "the zone has no percent-escape: write %eth0"},
		{"user@far", "7174", "an address has no user"},
		{"far/x", "7174", `'/' is not in the name of a host`},
		{"far 1", "7174", `' ' is not in the name of a host`},
		{"http://far", "7174", "http:// does not belong here: write HOST, HOST:PORT or :PORT"},
	} {
		if got, err := ParseAddress(tt.in, tt.port); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "strconv") {
			t.Errorf("ParseAddress(%q, %q) = %q, %v, want an error with %q", tt.in, tt.port, got, err, tt.want)
		}
	}
}

// FuzzParseAddress: a parsed address is complete, and is the same when it is parsed again.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"far", ":1", "[::1]:80", "::1", "a:b:c", "[fe80::1%eth0]", "[]", "1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s, DefaultPort)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a, ""); err != nil || again != a {
			t.Errorf("ParseAddress(%q) = %q, parsed again %q, %v", s, a, again, err)
		}
	})
}

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Size
		text string
	}{
		{"0", 0, "0"}, {"1", 1, "1"}, {"1000", 1000, "1000"}, {"1024", 1024, "1k"}, {"4k", 4096, "4k"}, {"4K", 4096, "4k"},
		{"1025k", 1025 << 10, "1025k"}, {"1m", 1 << 20, "1m"}, {"2G", 2 << 30, "2g"},
		{"9223372036854775807", math.MaxInt64, "9223372036854775807"},
	} {
		got, err := ParseSize(tt.in)
		if err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("ParseSize(%q) = %d (%v), %v, want %d (%s)", tt.in, int64(got), got, err, int64(tt.want), tt.text)
		}
		var again Size
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%v parsed again is %v, %v", got, again, err)
		}
	}
	for _, in := range []string{"", "k", "4x", "-1", "+1", "1.5k", "4kk", "4 k", "many", "8589934592g", "9223372036854775808"} {
		if got, err := ParseSize(in); err == nil || strings.Contains(err.Error(), "strconv") {
			t.Errorf("ParseSize(%q) = %v, %v", in, got, err)
		}
	}
}
