package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pires/go-proxyproto"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// headed is what a service receives: the header, and the bytes after it.
type headed struct {
	h    *proxyproto.Header
	rest string
	err  error
}

// headedService returns the address of a service that expects a PROXY header, and a channel with
// what it receives.
func headedService(t *testing.T) (address string, got chan headed) {
	got = make(chan headed, 10)
	return tcptest.Serve(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		h, err := proxyproto.Read(r)
		rest, _ := io.ReadAll(r) // the bytes so far
		got <- headed{h, string(rest), err}
	}), got
}

// The header of a trusted source reaches the service in the configured version, and the proxy
// reports the client in it. For other sources, the proxy names its own client.
func TestHeaders(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	const text = "PROXY TCP4 192.0.2.1 198.51.100.2 1234 80\r\n"
	v2 := new(bytes.Buffer)
	h := proxyproto.HeaderProxyFromAddrs(2, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234}, &net.TCPAddr{IP: net.IPv4(198, 51, 100, 2), Port: 80})
	if _, err := h.WriteTo(v2); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, sends string
		in          []netip.Prefix
		out         int
		from        string // "": the client's own address
		rest        string
	}{
		{"v1 in, v2 out", text + "data", trusted, 2, "192.0.2.1:1234", "data"},
		{"v2 in, v1 out", v2.String() + "data", trusted, 1, "192.0.2.1:1234", "data"},
		{"none in, v1 out", "data", nil, 1, "", "data"},
		{"none in, v2 out", "data", nil, 2, "", "data"},
		{"one in that is not trusted", text + "data", nil, 2, "", text + "data"},
		{"one in that comes from elsewhere", text + "data", []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, 2, "", text + "data"},
		{"LOCAL in, v1 out", "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00data", trusted, 2, "LOCAL", "data"},
		{"LOCAL with addresses", "\r\n\r\n\x00\r\nQUIT\n\x20\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\x04\xd2\x00\x50data", trusted, 2, "LOCAL", "data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service, got := headedService(t)
			exit := start(t, "rddp://127.0.0.1:0", service, Config{})
			entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{HeaderFrom: tt.in, SendHeader: tt.out})
			c := entrance.dial(t)
			io.WriteString(c, tt.sends)
			c.CloseWrite()
			io.ReadAll(c)
			g, s := <-got, entrance.next(t)
			if g.err != nil || g.rest != tt.rest || int(g.h.Version) != tt.out {
				t.Fatalf("the service gets %+v", g)
			}
			want := tt.from
			if want == "" || want == "LOCAL" {
				want = c.LocalAddr().String()
			} else if s.Via != c.LocalAddr().String() {
				t.Errorf("told that %v came by %q", s.From, s.Via)
			}
			if s.From != want || s.Err != nil {
				t.Errorf("told of %v, %v, want %v", s.From, s.Err, want)
			}
			if source, _, has := g.h.TCPAddrs(); tt.from == "LOCAL" != g.h.Command.IsLocal() || has && tt.from != "LOCAL" && source.String() != want {
				t.Errorf("the service gets the client %v of %v", source, g.h)
			}
		})
	}
}

// A header may arrive in pieces, with or without data after it.
func TestHeaderInPieces(t *testing.T) {
	const v1, v2 = "PROXY TCP6 2001:db8::1 2001:db8::2 1234 80\r\n", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\x04\xd2\x00\x50"
	for _, header := range []string{v1, "PROXY UNKNOWN\r\n", v2} {
		for _, rest := range []string{"", "data"} {
			r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(header+rest)), headerBuffer)
			if _, err := readHeader(r); err != nil {
				t.Errorf("%q: %v", header, err)
				continue
			}
			if got, err := io.ReadAll(r); string(got) != rest || err != nil {
				t.Errorf("%q: %q is behind it, %v, want %q", header, got, err, rest)
			}
		}
		for n := range len(header) {
			r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(header[:n])), headerBuffer)
			if h, err := readHeader(r); err == nil {
				t.Errorf("%q: %v", header[:n], h)
			}
		}
	}
	slow := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(v1)))
	if _, err := readHeader(bufio.NewReaderSize(slow, headerBuffer)); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a peer that stops in the middle: %v", err)
	}
}

// The source of a client behind a PROXY header is the address in the header: of three places, a
// newcomer takes one from the client that has two.
func TestHeaderSources(t *testing.T) {
	service := tcptest.Serve(t, func(c *net.TCPConn) {
		io.WriteString(c, "hello") // when a client gets this, the header has been processed
		io.Copy(c, c)
	})
	exit := start(t, "rddp://127.0.0.1:0", service, Config{})
	entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{HeaderFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, MaxConns: 3})
	greeted := func(client string) net.Conn {
		t.Helper()
		c := entrance.dial(t)
		io.WriteString(c, "PROXY TCP4 "+client+" 198.51.100.2 1234 80\r\n")
		if _, err := io.ReadFull(c, make([]byte, len("hello"))); err != nil {
			t.Fatal(err)
		}
		return c
	}
	one, two, again := greeted("192.0.2.1"), greeted("192.0.2.2"), greeted("192.0.2.2")
	newcomer := greeted("192.0.2.3")
	if s := entrance.next(t); s.From != "192.0.2.2:1234" {
		t.Fatalf("%s lost its place, want the client with two", s.From)
	}
	if _, err := two.Read(make([]byte, 1)); !isReset(err) {
		t.Errorf("the older connection of the client with two: %v, want a reset", err)
	}
	for _, c := range []net.Conn{one, again, newcomer} {
		said(t, c, "still here")
	}
}

// A trusted source that sends no header, or half of one, loses its connection.
func TestNoHeader(t *testing.T) {
	cfg := Config{HeaderFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
	entrance := start(t, "127.0.0.1:0", exit.Addr().String(), cfg)
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 192.0.2.1 300.0.0.1 1 2\r\n", "PROXY TCP4 " + strings.Repeat("1", 200)} {
		c := entrance.dial(t)
		io.WriteString(c, text)
		if n, err := c.Read(make([]byte, 1)); !isReset(err) {
			t.Errorf("%.20q: read %d bytes, %v, want a reset", text, n, err)
		}
		if s := told(t, entrance, "reading the PROXY header from the client"); s.Through {
			t.Errorf("told %v", s)
		}
	}
}

// FuzzHeader: any bytes in place of a PROXY header are accepted or refused, and the bytes after a
// header are not lost.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "PROXY UNKNOWN\r\nx", "PROXY TCP6 ::1 ::2 1 2\r\nx", "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00x", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c123456789012x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(b), headerBuffer)
		h, err := readHeader(r)
		if err != nil {
			return
		}
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.HasSuffix(b, rest) || len(rest) == len(b) {
			t.Errorf("%q: the header %v, then %q, %v", b, h, rest, err)
		}
		for _, version := range []byte{1, 2} { // the header that is passed on can be parsed
			h.Version = version
			var out bytes.Buffer
			if _, err := h.WriteTo(&out); err != nil {
				continue
			}
			if _, err := proxyproto.Read(bufio.NewReader(&out)); err != nil {
				t.Errorf("%q is sent on as what cannot be read: %v", b, err)
			}
		}
	})
}

// TestParsePrefix: a prefix is refused if no connection can come from it.
func TestParsePrefix(t *testing.T) {
	for s, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "10.0.0.0/8": "10.0.0.0/8", "::1": "::1/128", "::ffff:192.0.2.1": "192.0.2.1/32", "10.0.0.1/8": "", "host": "", "": "",
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:0.0.0.0/96": "0.0.0.0/0", "::ffff:10.0.0.1/104": "", "fe80::/10": "fe80::/10", "0.0.0.0/0": "0.0.0.0/0", "::/0": "::/0",
		"fe80::1%lo": "", "fe80::%lo/10": "", "::": "", "0.0.0.0": "", "224.0.0.0/4": "", "ff02::1": "",
	} {
		p, err := ParsePrefix(s)
		if (err != nil) != (want == "") || err == nil && p.String() != want {
			t.Errorf("ParsePrefix(%q) = %v, %v, want %q", s, p, err, want)
		}
	}
}

// TestHeaderFrom: a source is recognized by its address in any form, such as with a zone or
// IPv4-mapped.
func TestHeaderFrom(t *testing.T) {
	for _, tt := range []struct {
		prefix, from string
		want         bool
	}{
		{"fe80::/10", "[fe80::1%lo]:1", true},
		{"fe80::1", "[fe80::1%lo]:1", true},
		{"fe80::1", "[fe80::2%lo]:1", false},
		{"::ffff:10.0.0.0/104", "10.1.2.3:1", true},
		{"::ffff:10.0.0.0/104", "[::ffff:10.1.2.3]:1", true},
		{"10.0.0.0/8", "[::ffff:10.1.2.3]:1", true},
		{"10.0.0.0/8", "[fe80::1%lo]:1", false},
	} {
		p, err := ParsePrefix(tt.prefix)
		if err != nil {
			t.Fatal(err)
		}
		cfg := &Config{HeaderFrom: []netip.Prefix{p}}
		if got := cfg.hasHeader(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.from))); got != tt.want {
			t.Errorf("a header of %v from %s: %t, want %t", tt.prefix, tt.from, got, tt.want)
		}
	}
}

// TestLongHeader: a header of version 2 may have the maximum length of its length field.
func TestLongHeader(t *testing.T) {
	header := append([]byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff\xc0\x00\x02\x01\xc6\x33\x64\x02\x04\xd2\x00\x50\xe0\xff\xf0"), make([]byte, 1<<16-1-12-3)...)
	r := bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(append(header, "data"...))), headerBuffer)
	h, err := readHeader(r)
	if err != nil {
		t.Fatal(err)
	}
	if tlvs, err := h.TLVs(); err != nil || len(tlvs) != 1 || len(tlvs[0].Value) != 0xfff0 {
		t.Errorf("%d TLVs, %v", len(tlvs), err)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "data" {
		t.Errorf("behind it is %q, %v", rest, err)
	}
}

// An entrance with Fallback connects in plain TCP to a service that does not speak DDP, and reports
// that. The bytes and ends are passed on as exactly as in DDP mode. Without Fallback, the
// connection fails.
func TestFallback(t *testing.T) {
	ends := make(chan error, 4) // the service's last Read error on each connection
	service := tcptest.Serve(t, func(c *net.TCPConn) {
		b := make([]byte, 4)
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				ends <- err
				c.CloseWrite()
				return
			}
			switch string(b) {
			case "MPA ":
				fmt.Fprint(c, "HTTP/1.1 400 what?")
				return
			case "end!":
				c.SetLinger(0)
				return
			}
			c.Write(b)
		}
	})
	strict := start(t, "127.0.0.1:0", "rddp://"+service, Config{})
	strict.dialInVain(t)
	told(t, strict, "connecting to the exit")

	entrance := start(t, "127.0.0.1:0", "rddp://"+service, Config{Fallback: true})
	for i := range 3 {
		c := entrance.dial(t)
		b := make([]byte, 4)
		fmt.Fprintf(c, "ask%d", i)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != fmt.Sprintf("ask%d", i) {
			t.Fatalf("got %q, %v", b, err)
		}
		if i == 2 { // a reset stays a reset
			io.WriteString(c, "end!")
			if n, err := c.Read(b); !isReset(err) {
				t.Errorf("read %d bytes, %v, want a reset", n, err)
			}
		} else if c.CloseWrite(); true {
			if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
				t.Errorf("then %q, %v", rest, err)
			}
		}
		if s := entrance.next(t); s.DDPMode || !errors.Is(s.Fallback, extsock.ErrPlainTCP) || (s.Err == nil) != (i < 2) || errors.Is(s.Err, os.ErrDeadlineExceeded) {
			t.Errorf("told %+v", s)
		}
	}
	c := entrance.dial(t)
	said(t, c, "ask3")
	c.SetLinger(0)
	c.Close()
	for i, want := range []bool{false, false, true} { // the service itself has ended the third connection
		if err := <-ends; isReset(err) != want {
			t.Errorf("the service sees the end %v of connection %d, a reset: want %v", err, i, want)
		}
	}
	if s := entrance.next(t); s.Err == nil || s.Fallback == nil {
		t.Errorf("told %+v of a reset", s)
	}
	if n := entrance.Stats().Fallbacks; n != 4 {
		t.Errorf("%d fallbacks are counted, of 4", n)
	}
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
	with := start(t, "127.0.0.1:0", exit.Addr().String(), Config{Fallback: true})
	c = with.dial(t)
	c.CloseWrite()
	io.ReadAll(c)
	if s := with.next(t); !s.DDPMode || s.Fallback != nil || s.Err != nil {
		t.Errorf("with an exit there: told %+v", s)
	}
}
