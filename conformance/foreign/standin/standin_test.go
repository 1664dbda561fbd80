package standin

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/nopanic"
)

func TestMain(m *testing.M) { nopanic.Exit(m.Run()) }

// inModes runs f in each mode.
func inModes(t *testing.T, f func(t *testing.T)) {
	for _, m := range []Mode{ModeOff, ModePrefer, ModeRequire, ModeInBand} {
		t.Run(string(m), func(t *testing.T) {
			before := mode
			mode = m
			defer func() { mode = before }()
			f(t)
		})
	}
}

// A program that dials and then accepts, in one goroutine, gets two ends of a connection in the
// mode.
func TestDialThenAccept(t *testing.T) {
	inModes(t, func(t *testing.T) {
		a, b := Pipe()
		defer a.Close()
		defer b.Close()
		go func() {
			_, _ = a.Write([]byte("octets")) // an error shows at the other end
			_ = a.(*TCPConn).CloseWrite()
		}()
		if got, err := io.ReadAll(b); string(got) != "octets" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		want := mode != ModeOff
		for _, c := range []net.Conn{a, b} {
			if got := c.(*TCPConn).ConnectionState().DDPMode; got != want {
				t.Errorf("the connection is in DDP mode: %t, want %t", got, want)
			}
		}
	})
}

// Buffers are one Write of a connection, which one Read takes, and for any other writer what they
// are in package net.
func TestBuffers(t *testing.T) {
	inModes(t, func(t *testing.T) {
		a, b := Pipe()
		defer a.Close()
		defer b.Close()
		all := Buffers{[]byte("one"), nil, []byte(" call")}
		if n, err := all.WriteTo(a); n != 8 || err != nil || len(all) != 0 {
			t.Errorf("WriteTo = %d, %v; left: %q", n, err, all)
		}
		p := make([]byte, 10)
		if n, err := b.Read(p); string(p[:n]) != "one call" || err != nil {
			t.Errorf("a Read has %q, %v", p[:n], err)
		}
		a.Close()
		all = Buffers{[]byte("more")}
		if n, err := all.WriteTo(a); n != 0 || err == nil || len(all) != 1 {
			t.Errorf("after Close: WriteTo = %d, %v; left: %q", n, err, all)
		}
		var other bytes.Buffer
		if n, err := all.WriteTo(&other); n != 4 || err != nil || other.String() != "more" {
			t.Errorf("to another writer: %d, %v, %q", n, err, other.String())
		}
	})
}

// TLS runs over connections in the mode, and the name that a client verifies is that of the address
// if its Config has none.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(nil) // for its certificate
	s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	dials := map[string]func(address string, config *tls.Config) (net.Conn, error){
		"TLSDial": func(address string, config *tls.Config) (net.Conn, error) {
			return TLSDial("tcp", address, config)
		},
		"TLSDialer": func(address string, config *tls.Config) (net.Conn, error) {
			return (&TLSDialer{Config: config}).Dial("tcp", address)
		},
	}
	inModes(t, func(t *testing.T) {
		l, err := TLSListen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					_, _ = c.Write([]byte("octets")) // an error shows at the other end
				}()
			}
		}()
		for name, dial := range dials {
			c, err := dial(l.Addr().String(), &tls.Config{RootCAs: roots})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, err := io.ReadAll(c); string(got) != "octets" || err != nil {
				t.Errorf("%s: read %q, %v", name, got, err)
			}
			below := c.(*tls.Conn).NetConn().(*TCPConn)
			if got, want := below.ConnectionState().DDPMode, mode != ModeOff; got != want {
				t.Errorf("%s: the connection is in DDP mode: %t, want %t", name, got, want)
			}
			c.Close()
			if c, err := dial(l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "elsewhere.invalid"}); err == nil {
				t.Errorf("%s: the certificate of another name is accepted", name)
				c.Close()
			}
		}
	})
}

// Accept ends when its deadline has passed, and when the listener is closed.
func TestAcceptEnds(t *testing.T) {
	inModes(t, func(t *testing.T) {
		l, err := ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.SetDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline Accept gives %v", err)
		}
		if err := l.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := l.AcceptTCP()
			ended <- err
		}()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close AcceptTCP gives %v", err)
		}
	})
}

// Close of the listener closes the connections that nobody has accepted.
func TestCloseUnaccepted(t *testing.T) {
	inModes(t, func(t *testing.T) {
		l, err := Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("Read gives %d, %v", n, err)
		}
	})
}

// Networks other than TCP are package net's.
func TestOtherNetworks(t *testing.T) {
	inModes(t, func(t *testing.T) {
		c, err := Dial("udp", "127.0.0.1:9")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, ok := c.(*net.UDPConn); !ok {
			t.Errorf("Dial of UDP gives a %T", c)
		}
	})
}

// The file of counts holds what the process has dialed.
func TestCounts(t *testing.T) {
	file := t.TempDir() + "/counts"
	t.Setenv(CountsVariable, file)
	inModes(t, func(t *testing.T) {
		var own counter
		a, b := Pipe()
		defer a.Close()
		defer b.Close()
		own.dialed(a.(*TCPConn))
		got, err := ReadCounts(file)
		want := Counts{Dialed: 1}
		if mode != ModeOff {
			want.DDP = 1
		}
		if got != want || err != nil {
			t.Errorf("the counts are %+v, %v, want %+v", got, err, want)
		}
	})
}
