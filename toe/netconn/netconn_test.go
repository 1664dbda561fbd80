package netconn_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/toetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// socketPair returns the two sides of a connection through a listener.
func socketPair(t *testing.T, network, address string) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err = l.Accept()
	if err != nil {
		a.Close()
		t.Fatal(err)
	}
	return a, b
}

func unixPair(t *testing.T) (a, b net.Conn) {
	dir, err := os.MkdirTemp("", "toe") // t.TempDir is too long a path for some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return socketPair(t, "unix", filepath.Join(dir, "s"))
}

// tlsOver makes both sides of a TLS connection over x and y, before their handshake.
func tlsOver(t *testing.T, x, y net.Conn) (a, b *tls.Conn) {
	t.Helper()
	return tlsOverWith(t, x, y, &tls.Config{})
}

// tlsOverWith is tlsOver with the client's cfg.
func tlsOverWith(t *testing.T, x, y net.Conn, cfg *tls.Config) (a, b *tls.Conn) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"toe"},
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	cfg = cfg.Clone()
	cfg.RootCAs, cfg.ServerName = roots, "toe"
	return tls.Client(x, cfg),
		tls.Server(y, &tls.Config{
			Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			SessionTicketsDisabled: true, // over a net.Pipe, the server would wait until the client reads
		})
}

// tlsPair returns both sides of a TLS connection over loopback, after their handshake.
func tlsPair(t *testing.T) (a, b *tls.Conn) {
	t.Helper()
	x, y := socketPair(t, "tcp", "127.0.0.1:0")
	return shaken(t, x, y)
}

// shaken returns both sides of a TLS connection over x and y, after their handshake.
func shaken(t *testing.T, x, y net.Conn) (a, b *tls.Conn) {
	t.Helper()
	a, b = tlsOver(t, x, y)
	server := make(chan error, 1)
	go func() { server <- b.Handshake() }()
	if err := errors.Join(a.HandshakeContext(context.Background()), <-server); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func TestNewContract(t *testing.T) {
	for _, test := range []struct {
		desc string
		pair func(t *testing.T) (a, b net.Conn)
	}{
		{"net.Pipe", func(*testing.T) (a, b net.Conn) { return net.Pipe() }},
		{"unix", unixPair},
		{"TLS", func(t *testing.T) (a, b net.Conn) { return tlsPair(t) }},
		{"TLS over Streams", wiredPair},
		{"TLS at one end over a Stream", func(t *testing.T) (a, b net.Conn) {
			x, y := socketPair(t, "tcp", "127.0.0.1:0")
			return shaken(t, netconn.ForTLS(kernel.New(x.(*net.TCPConn))), y)
		}},
		{"TCP", func(t *testing.T) (a, b net.Conn) { return socketPair(t, "tcp", "127.0.0.1:0") }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) {
				x, y := test.pair(t)
				return netconn.New(x), netconn.New(y)
			})
		})
	}
}

func TestNewNetConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		x, y := net.Pipe()
		a, b := netconn.New(x), netconn.New(y)
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

func TestNewOfStreamIsTheStream(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	s := netconn.New(a)
	defer s.Close()
	if got := netconn.New(s); got != s {
		t.Errorf("Wrap(%p) = %p, want the same", s, got)
	}
}

func TestNewEMSS(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	s := netconn.New(a)
	defer s.Close()
	if got := s.EMSS(); got != toe.DefaultEMSS {
		t.Errorf("EMSS() = %d, want %d", got, toe.DefaultEMSS)
	}
	x, y := lateTLS(t)
	defer y.Close()
	s = netconn.New(x)
	defer s.Close()
	if got := s.EMSS(); got != 16<<10 { // RFC 8446 §5.1
		t.Errorf("over TLS, EMSS() = %d, want the length of the longest record", got)
	}
}

func TestNewHalfCloseOfPipe(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	s := netconn.New(a)
	defer s.Close()
	if err := s.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseWrite() = %v, want errors.ErrUnsupported", err)
	}
}

// A script is a net.Conn whose Read returns its elements, one for each call.
type script struct {
	net.Conn
	reads []scriptRead
	calls int
}

type scriptRead struct {
	data string
	err  error
}

func (s *script) SetDeadline(time.Time) error { return nil }
func (s *script) LocalAddr() net.Addr         { return nil }
func (s *script) RemoteAddr() net.Addr        { return nil }

func (s *script) Read(p []byte) (int, error) {
	s.calls++
	r := s.reads[0]
	if len(r.data) > len(p) {
		s.reads[0].data = r.data[len(p):]
		return copy(p, r.data), nil
	}
	s.reads = s.reads[1:]
	return copy(p, r.data), r.err
}

// TestNewReadAhead reads with a Lender that takes its memory back and with a Lender that keeps it.
// The results must be the same.
func TestNewReadAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		desc  string
		reads []scriptRead
		want  string
		err   error
	}{
		{"octets, then FIN", []scriptRead{{"ab", nil}, {"c", nil}, {"", io.EOF}}, "abc", io.EOF},
		{"FIN with the last octets", []scriptRead{{"ab", nil}, {"c", io.EOF}}, "abc", io.EOF},
		{"reads of nothing", []scriptRead{{"", nil}, {"a", nil}, {"", nil}, {"", nil}, {"", io.EOF}}, "a", io.EOF},
		{"failure with octets", []scriptRead{{"a", broken}}, "a", broken},
		{"failure alone", []scriptRead{{"a", nil}, {"", broken}}, "a", broken},
	} {
		for _, keeps := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, memory kept: %t", test.desc, keeps), func(t *testing.T) {
				s := netconn.New(&script{reads: append([]scriptRead(nil), test.reads...)})
				var got []byte
				for {
					p := make([]byte, 1)
					var l toe.Lender = late{p}
					if keeps {
						l = toetest.Into(p)
					}
					n, off, err := s.ReadSegment(l, 0)
					if off != uint64(len(got)) || (n == 0) != (err != nil) {
						t.Fatalf("ReadSegment behind %q = %d, %d, %v", got, n, off, err)
					}
					if err != nil {
						if !errors.Is(err, test.err) {
							t.Errorf("ReadSegment = %v, want %v", err, test.err)
						}
						break
					}
					got = append(got, p[:n]...)
				}
				if string(got) != test.want {
					t.Errorf("read %q, want %q", got, test.want)
				}
			})
		}
	}
}

// TestNewReadAheadIsARun checks that bytes read ahead are returned in one piece, and that Pending
// counts the rest.
func TestNewReadAheadIsARun(t *testing.T) {
	want := bytes.Repeat([]byte("run "), 500)
	s := netconn.New(&script{reads: []scriptRead{{string(want), nil}}})
	p := make([]byte, 4096)
	n, _, err := s.ReadSegment(late{p[:1000]}, 0)
	if n != 1000 || err != nil {
		t.Errorf("ReadSegment = %d octets, %v, want 1000", n, err)
	}
	if pending, err := s.Pending(); pending != len(want)-1000 || err != nil {
		t.Errorf("Pending() = %d, %v, want %d", pending, err, len(want)-1000)
	}
	m, off, err := s.ReadSegment(late{p[1000:]}, 0)
	if !bytes.Equal(p[:n+m], want) || off != 1000 || err != nil {
		t.Errorf("ReadSegment = %d octets at %d, %v, want the other %d", m, off, err, len(want)-1000)
	}
}

// TestNewReadsIntoMemoryKept checks that bytes are not copied if the Lender keeps its memory.
func TestNewReadsIntoMemoryKept(t *testing.T) {
	want := bytes.Repeat([]byte("run "), 5000)
	s := netconn.New(&script{reads: []scriptRead{{string(want), nil}}})
	p := make([]byte, len(want))
	if n, _, err := toetest.ReadSegment(s, p); n != len(want) || !bytes.Equal(p, want) || err != nil {
		t.Errorf("ReadSegment = %d octets, %v, want %d", n, err, len(want))
	}
}

// A records is a net.Conn that records the length of each Write.
type records struct {
	net.Conn
	lens []int
	data []byte
}

func (r *records) Write(p []byte) (int, error) {
	r.lens = append(r.lens, len(p))
	r.data = append(r.data, p...)
	return len(p), nil
}

// TestNewGathers checks that a batch of FPDUs needs few writes, and not one for each slice.
func TestNewGathers(t *testing.T) {
	small, large := bytes.Repeat([]byte{1}, 24), bytes.Repeat([]byte{2}, 60_000)
	for _, test := range []struct {
		desc string
		bufs [][]byte
		want int // writes
	}{
		{"nothing", [][]byte{{}, nil}, 0},
		{"one small", [][]byte{small}, 1},
		{"many small", [][]byte{small, small, small, {}, small}, 1},
		{"header, payload, trailer", [][]byte{small, large, small}, 4},
	} {
		t.Run(test.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := net.Pipe()
				defer y.Close()
				r := records{Conn: x}
				s := netconn.New(&r)
				want := bytes.Join(test.bufs, nil)
				if n, err := s.TryWriteBatch(test.bufs); n != len(want) || err != nil {
					t.Fatalf("TryWriteBatch = %d, %v, want %d", n, err, len(want))
				}
				if err := s.Flush(time.Second); err != nil {
					t.Errorf("Flush = %v", err)
				}
				if !bytes.Equal(r.data, want) {
					t.Errorf("wrote %d octets that are not the %d of the batch", len(r.data), len(want))
				}
				if len(r.lens) > test.want {
					t.Errorf("writes of %d octets, want at most %d writes", r.lens, test.want)
				}
				s.Close()
			})
		})
	}
}

// TestNewWrite checks that a Write is one Write of the net.Conn below, after the bytes of
// TryWriteBatch, and that its deadline ends it without harm to either.
func TestNewWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		s := netconn.New(x)
		defer s.Close()
		begin := time.Now()
		s.SetWriteDeadline(begin.Add(time.Second))
		if n, err := s.Write([]byte("nobody reads")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write = %d, %v, want 0, a timeout", n, err)
		}
		if n, err := s.TryWriteBatch([][]byte{[]byte("first ")}); n != 6 || err != nil {
			t.Errorf("TryWriteBatch = %d, %v, want 6", n, err)
		}
		s.SetWriteDeadline(begin.Add(2 * time.Second))
		if n, err := s.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write behind the send buffer = %d, %v, want 0, a timeout", n, err)
		}
		s.SetWriteDeadline(begin.Add(4 * time.Second))
		read := func(want string) {
			p := make([]byte, len(want))
			if _, err := io.ReadFull(y, p); string(p) != want || err != nil {
				t.Errorf("read %q, %v, want %q", p, err, want)
			}
		}
		time.AfterFunc(time.Second, func() { read("first ") })
		if n, err := s.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write = %d, %v, want 0, a timeout", n, err)
		}
		if d := time.Since(begin); d != 4*time.Second {
			t.Errorf("the last Write ended after %v, want 4s", d)
		}
		s.SetWriteDeadline(time.Time{})
		go read("second")
		if n, err := s.Write([]byte("second")); n != 6 || err != nil {
			t.Errorf("Write = %d, %v, want 6", n, err)
		}
		if !netconn.Idle(s) {
			t.Error("an idle stream keeps its send buffer or its goroutine")
		}
	})
}

// TestNewCapabilities checks that the Capabilities are those of the net.Conn below.
func TestNewCapabilities(t *testing.T) {
	tcp, _ := socketPair(t, "tcp", "127.0.0.1:0")
	x, y := net.Pipe()
	defer y.Close()
	for _, test := range []struct {
		desc string
		conn net.Conn
		want toe.Capabilities
	}{
		{"net.Pipe", x, toe.Capabilities{Deadlines: true}},
		{"TCP", tcp, toe.Capabilities{Deadlines: true, HalfClose: true, Reset: true}},
		{"TLS over TCP", tls.Client(tcp, &tls.Config{}), toe.Capabilities{Deadlines: true, HalfClose: true, Reset: true}},
		{"TLS over a Stream", tls.Client(netconn.New(x), &tls.Config{}), toe.Capabilities{Deadlines: true, HalfClose: true}},
		{"no deadlines", endless{x}, toe.Capabilities{}},
	} {
		s := netconn.New(test.conn)
		if got := s.Capabilities(); got != test.want {
			t.Errorf("%s: Capabilities() = %+v, want %+v", test.desc, got, test.want)
		}
		if err := s.SetDeadline(time.Time{}); (err == nil) != test.want.Deadlines {
			t.Errorf("%s: SetDeadline = %v", test.desc, err)
		}
	}
	tcp.Close()
	x.Close()
}

// An endless is a net.Conn without deadlines.
type endless struct{ net.Conn }

func (endless) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (endless) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (endless) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

// TestNewWaitsWithoutDeadlines checks that waiting for room obeys the deadline even if the net.Conn
// has none.
func TestNewWaitsWithoutDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		s := netconn.New(endless{x})
		defer s.Close()
		s.SetWriteDeadline(time.Now().Add(time.Second))
		if err := toetest.WriteBatch(s, [][]byte{numbers(2 * netconn.SendSize)}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("WriteBatch = %v, want a timeout", err)
		}
	})
}

// TestDeadlineOfClosedPeer: a net.Pipe takes no deadline once its peer has closed. An earlier
// deadline is then removed, and Read returns the end.
func TestDeadlineOfClosedPeer(t *testing.T) {
	for desc, set := range map[string]func(toe.Stream, time.Time) error{"SetDeadline": toe.Stream.SetDeadline, "SetReadDeadline": toe.Stream.SetReadDeadline} {
		x, y := net.Pipe()
		s := netconn.New(x)
		if err := set(s, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		y.Close()
		if err := set(s, time.Time{}); err == nil {
			t.Errorf("%s succeeds after the peer has closed", desc)
		}
		if _, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: Read = %v, want io.EOF", desc, err)
		}
		if _, err := s.Write([]byte{1}); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: Write = %v", desc, err)
		}
		s.Close()
	}
}
