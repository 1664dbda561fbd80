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
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/toe"
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

// tlsOver makes both sides of a TLS connection of x and y. They have not shaken
// hands yet.
func tlsOver(t *testing.T, x, y net.Conn) (a, b *tls.Conn) {
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
	return tls.Client(x, &tls.Config{RootCAs: roots, ServerName: "toe"}),
		tls.Server(y, &tls.Config{
			Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			SessionTicketsDisabled: true, // over a net.Pipe, the server would wait until the client reads
		})
}

// tlsPair returns both sides of a TLS connection over loopback, shaken hands.
func tlsPair(t *testing.T) (a, b *tls.Conn) {
	t.Helper()
	x, y := socketPair(t, "tcp", "127.0.0.1:0")
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

// script is a net.Conn whose Read gives what is in it, one element a call.
type script struct {
	net.Conn
	reads []scriptRead
	calls int
}

type scriptRead struct {
	data string
	err  error
}

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

// TestNewReadAhead walks through reads with Readable before each of them and
// without: the results are the same.
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
		for _, wait := range []bool{false, true} {
			t.Run(test.desc, func(t *testing.T) {
				s := netconn.New(&script{reads: append([]scriptRead(nil), test.reads...)})
				var got []byte
				for {
					if wait {
						if err := s.Readable(); err != nil && err != test.err {
							t.Fatalf("Readable() = %v", err)
						}
					}
					var p [1]byte
					n, off, err := s.ReadSegment(p[:])
					if off != uint64(len(got)) || (n == 0) != (err != nil) {
						t.Fatalf("ReadSegment behind %q = %d, %d, %v", got, n, off, err)
					}
					if err != nil {
						if err != test.err {
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

// TestNewReadAheadIsARun: after Readable, ReadSegment gives more than an octet.
func TestNewReadAheadIsARun(t *testing.T) {
	want := bytes.Repeat([]byte("run "), 500)
	s := netconn.New(&script{reads: []scriptRead{{string(want), nil}}})
	if err := s.Readable(); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4096)
	if n, _, err := s.ReadSegment(p); !bytes.Equal(p[:n], want) || err != nil {
		t.Errorf("ReadSegment = %d octets, %v, want %d", n, err, len(want))
	}
}

// records is a net.Conn that remembers the length of each Write.
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

// TestNewGathers: a batch of FPDUs becomes few writes, not one for each slice.
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
		{"large alone", [][]byte{large}, 1},
		{"header, payload, trailer", [][]byte{small, large, small}, 3},
		{"two FPDUs", [][]byte{small, large, small, large, small}, 5},
	} {
		t.Run(test.desc, func(t *testing.T) {
			var r records
			want := bytes.Join(test.bufs, nil)
			if err := netconn.New(&r).WriteBatch(test.bufs); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.data, want) {
				t.Errorf("wrote %d octets that are not the %d of the batch", len(r.data), len(want))
			}
			if len(r.lens) != test.want {
				t.Errorf("writes of %d octets, want %d writes", r.lens, test.want)
			}
		})
	}
}
