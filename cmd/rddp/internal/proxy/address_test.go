package proxy

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
)

func TestParseAddress(t *testing.T) {
	tests := []struct {
		in   string
		want Address
		text string
	}{
		{"127.0.0.1:80", Address{Network: "tcp", Address: "127.0.0.1:80"}, "127.0.0.1:80"},
		{":80", Address{Network: "tcp", Address: ":80"}, ":80"},
		{"[::1]:80", Address{Network: "tcp", Address: "[::1]:80"}, "[::1]:80"},
		{"unix:/run/x", Address{Network: "unix", Address: "/run/x"}, "unix:/run/x"},
		{"unix:x:1", Address{Network: "unix", Address: "x:1"}, "unix:x:1"},
		{"rddp://far", Address{true, "tcp", "far:7174"}, "rddp://far:7174"},
		{"rddp://far:1", Address{true, "tcp", "far:1"}, "rddp://far:1"},
		{"rddp://:0", Address{true, "tcp", ":0"}, "rddp://:0"},
		{"rddp://[fe80::1%eth0]", Address{true, "tcp", "[fe80::1%eth0]:7174"}, "rddp://[fe80::1%eth0]:7174"},
		{"rddp://::1", Address{true, "tcp", "[::1]:7174"}, "rddp://[::1]:7174"},
		{"rddp://[::1]:1", Address{true, "tcp", "[::1]:1"}, "rddp://[::1]:1"},
	}
	for _, tt := range tests {
		if got, err := ParseAddress(tt.in); err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("ParseAddress(%q) = %#v, %v, want %#v and %q", tt.in, got, err, tt.want, tt.text)
		}
	}
	for _, in := range []string{"", "far", "localhost:http", "rddp://", "7174", "far:", "::1:80:", "unix:", "rddp://far/", "rddp://far:1/x", "http://far:80", "rddp://far:"} {
		if got, err := ParseAddress(in); err == nil {
			t.Errorf("ParseAddress(%q) = %#v, want an error", in, got)
		}
	}
}

func TestListenErrors(t *testing.T) {
	plain, ddp := address(t, "127.0.0.1:0"), address(t, "rddp://127.0.0.1:0")
	for _, a := range []Address{plain, ddp} {
		if _, err := Listen(t.Context(), a, a, nil); !errors.Is(err, ErrSides) {
			t.Errorf("both %v: %v, want ErrSides", a, err)
		}
	}
	for _, cfg := range []Config{{Timeout: -1}, {Idle: -1}, {MaxConns: -1}} {
		if _, err := Listen(t.Context(), plain, ddp, &cfg); err == nil {
			t.Errorf("Listen takes %+v", cfg)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	want := "listening at " + taken.Addr().String() + ": address already in use"
	if _, err := Listen(t.Context(), address(t, taken.Addr().String()), ddp, nil); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Close ends a Proxy that does not serve, and ends the Serve of one that does.
func TestClose(t *testing.T) {
	p, err := Listen(t.Context(), address(t, "127.0.0.1:0"), address(t, "rddp://127.0.0.1:1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Serve(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve after Close: %v, want net.ErrClosed", err)
	}
}

func TestUnixSockets(t *testing.T) {
	dir := t.TempDir()
	near := filepath.Join(dir, "near")
	l, err := net.Listen("unix", filepath.Join(dir, "far"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	exit := start(t, "rddp://127.0.0.1:0", "unix:"+l.Addr().String(), Config{})
	entrance := start(t, "unix:"+near, exit.Addr().String(), Config{})
	c, err := net.Dial("unix", near)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	exchangeText(t, c, s)
	exchangeText(t, s, c)
	if s := entrance.next(t); s.Err != nil || s.From != "local" || s.There != 5 || s.Back != 5 {
		t.Errorf("told %v", s)
	}
	orderly(t, exit)
}
