package extsock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/simtoe"
)

// modeKey is the context key of the connection of a request to TestHTTP's server.
type modeKey struct{}

// TestHTTP: net/http runs over extended sockets as it does over TCP, in either mode, between TCP
// peers and rddp peers, through one port.
func TestHTTP(t *testing.T) {
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupPrefer})
	if err != nil {
		t.Fatal(err)
	}
	body := pattern(30_000, 7)
	server := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, modeKey{}, c) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Mode", modeOf(r.Context().Value(modeKey{}).(*extsock.Conn)))
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			w.Write(body)
		}),
	}
	var served sync.WaitGroup
	served.Go(func() { server.Serve(l) })
	for _, tt := range []struct {
		desc string
		dial func(ctx context.Context, network, address string) (net.Conn, error)
		mode string
	}{
		{"an old client", (&net.Dialer{}).DialContext, "TCP"},
		{"a new client that stays with TCP", (&extsock.Dialer{}).DialContext, "TCP"},
		{"a new client", (&extsock.Dialer{Config: &extsock.Config{Startup: extsock.StartupPrefer, PreferTimeout: time.Minute}}).DialContext, "DDP"},
	} {
		client := &http.Client{Transport: &http.Transport{DialContext: tt.dial}}
		for range 3 {
			r, err := client.Get("http://" + l.Addr().String() + "/")
			if err != nil {
				t.Fatalf("%s: %v", tt.desc, err)
			}
			got, err := io.ReadAll(r.Body)
			r.Body.Close()
			if string(got) != string(body) || err != nil {
				t.Errorf("%s: %d octets, %v", tt.desc, len(got), err)
			}
			if m := r.Header.Get("Mode"); m != tt.mode {
				t.Errorf("%s was served in mode %s, want %s", tt.desc, m, tt.mode)
			}
		}
		client.CloseIdleConnections()
	}
	if err := server.Shutdown(timeLimit(t)); err != nil {
		t.Error(err)
	}
	served.Wait()
}

// echoServer echoes what arrives on each connection of l, with the mode in front.
func echoServer(t *testing.T, l net.Listener) (stop func()) {
	t.Helper()
	var over sync.WaitGroup
	over.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			over.Go(func() {
				defer c.Close()
				p := make([]byte, 1000)
				for {
					n, err := c.Read(p)
					if err != nil {
						return
					}
					fmt.Fprintf(c, "%v %s", modeOf(c.(*extsock.Conn)), p[:n])
				}
			})
		}
	})
	return func() { l.Close(); over.Wait() }
}

// hears writes to c, checks the answer, and closes c.
func hears(t *testing.T, c *extsock.Conn, want string) {
	t.Helper()
	defer c.Close()
	c.SetDeadline(prototest.Deadline(t))
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, len(want))
	if _, err := io.ReadFull(c, p); string(p) != want || err != nil {
		t.Fatalf("the answer is %q, %v, want %q", p, err, want)
	}
}

// TestTLSOption: Config.TLS puts TLS under everything, in each kind of startup.
func TestTLSOption(t *testing.T) {
	client, server := tlsConfigs(t)
	for _, tt := range []struct {
		desc           string
		dials, accepts extsock.Startup
		want           string
	}{
		{"plain", extsock.StartupOff, extsock.StartupOff, "TCP hello"},
		{"both require", extsock.StartupRequire, extsock.StartupRequire, "DDP hello"},
		{"both prefer", extsock.StartupPrefer, extsock.StartupPrefer, "DDP hello"},
		{"plain to a hybrid listener", extsock.StartupOff, extsock.StartupPrefer, "TCP hello"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: server, Startup: tt.accepts})
			if err != nil {
				t.Fatal(err)
			}
			defer echoServer(t, l)()
			silent, err := net.Dial("tcp", l.Addr().String()) // without TLS; it must not delay others
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{TLS: client, Startup: tt.dials, PreferTimeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			hears(t, c, tt.want)
		})
	}
	t.Run("prefer DDP of a plain TLS server", func(t *testing.T) {
		l, err := tls.Listen("tcp", "127.0.0.1:0", server)
		if err != nil {
			t.Fatal(err)
		}
		var over sync.WaitGroup
		over.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				over.Go(func() {
					defer c.Close()
					p := make([]byte, 1000)
					n, _ := c.Read(p)
					fmt.Fprintf(c, "plain %s", p[:n])
				})
			}
		})
		c, err := dialConn(t.Context(), &extsock.Dialer{Config: &extsock.Config{TLS: client, Startup: extsock.StartupPrefer}}, "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackNotMPA {
			t.Errorf("fallback %v", f)
		}
		hears(t, c, "plain hello")
		l.Close()
		over.Wait()
	})
}

// TestTLSOptionChecksThePeer: the client checks the server's name, which is that of the address if
// the Config has none, and the context bounds the handshake.
func TestTLSOptionChecksThePeer(t *testing.T) {
	client, server := tlsConfigs(t)
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: server})
	if err != nil {
		t.Fatal(err)
	}
	defer echoServer(t, l)()
	client.ServerName = ""
	_, err = extsock.Dial("tcp", l.Addr().String(), &extsock.Config{TLS: client, Startup: extsock.StartupPrefer})
	var bad *tls.CertificateVerificationError
	if !errors.As(err, &bad) {
		t.Errorf("Dial of a server with another name: %v", err)
	}
	if client.ServerName != "" {
		t.Error("Dial has changed the caller's tls.Config")
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = (&extsock.Dialer{Config: &extsock.Config{TLS: client}}).DialContext(ctx, "tcp", silent.Addr().String())
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Dial of a silent server: %v, want the context's end", err)
	}
}

// A redirected Backend dials one address, whatever it is asked for.
type redirected struct {
	kernel.Backend
	address string
}

func (r *redirected) Dial(ctx context.Context, network, _ string) (toe.Stream, error) {
	return r.Backend.Dial(ctx, network, r.address)
}

// TestTLSNameHasNoZone: the certificate of a server at a link-local address has the address,
// without the zone that the client needs to reach it.
func TestTLSNameHasNoZone(t *testing.T) {
	client, server := tlsConfigs(t)
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: server})
	if err != nil {
		t.Fatal(err)
	}
	defer echoServer(t, l)()
	client.ServerName = ""
	c, err := extsock.Dial("tcp", "[fe80::1%lo]:7174", &extsock.Config{
		TLS: client, Startup: extsock.StartupOff, Backend: &redirected{address: l.Addr().String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestNewListener: the connections of any listener become extended sockets.
func TestNewListener(t *testing.T) {
	clientTLS, serverTLS := tlsConfigs(t)
	for _, tt := range []struct {
		network, address string
		wrap             func(net.Listener) net.Listener
		dial             func(c net.Conn) net.Conn
	}{
		{"tcp", "127.0.0.1:0", nil, nil},
		{"unix", filepath.Join(t.TempDir(), "socket"), nil, nil},
		{"tcp", "127.0.0.1:0", func(l net.Listener) net.Listener { return tls.NewListener(l, serverTLS) },
			func(c net.Conn) net.Conn { return tls.Client(c, clientTLS) }},
	} {
		for _, startup := range []extsock.Startup{extsock.StartupOff, extsock.StartupRequire} {
			under, err := net.Listen(tt.network, tt.address)
			if err != nil {
				t.Fatal(err)
			}
			address := under.Addr()
			if tt.wrap != nil {
				under = tt.wrap(under)
			}
			l := extsock.NewListener(under, &extsock.Config{Startup: extsock.StartupPrefer})
			if l.Addr() != address {
				t.Errorf("Addr = %v, want %v", l.Addr(), address)
			}
			stop := echoServer(t, l)
			c, err := net.Dial(tt.network, address.String())
			if err != nil {
				t.Fatal(err)
			}
			if tt.dial != nil {
				c = tt.dial(c)
			}
			want := "TCP hello"
			if startup != extsock.StartupOff {
				want = "DDP hello"
			}
			hears(t, extsock.NewConn(c, true, &extsock.Config{Startup: startup}), want)
			stop()
		}
	}
}

// TestDialerUsesNetDialer: the settings of net.Dialer reach the operating system's TCP.
func TestDialerUsesNetDialer(t *testing.T) {
	asked := 0
	control := func(network, address string, c syscall.RawConn) error { asked++; return nil }
	l, err := extsock.Listen("tcp4", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &extsock.Dialer{}
	d.NetDialer.Control = control
	d.NetDialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	c, err := d.DialContext(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if asked != 1 {
		t.Errorf("Control was called %d times, want 1", asked)
	}
	if _, err := (&extsock.Dialer{}).DialContext(t.Context(), "udp", l.Addr().String()); !errors.As(err, new(net.UnknownNetworkError)) {
		t.Errorf("Dial of udp: %v", err)
	}
}

// TestDialTLSSilentPeer: a server that accepts and then is silent does not block Dial forever,
// whatever Config.Startup is, even if the program sets no context or Timeout: a TLS handshake may
// take 10 s.
func TestDialTLSSilentPeer(t *testing.T) {
	for _, startup := range []extsock.Startup{extsock.StartupOff, extsock.StartupPrefer, extsock.StartupRequire} {
		bubble(t, func(t *testing.T) {
			network := simtoe.New(simtoe.Config{})
			l, err := network.Listen(t.Context(), "tcp", "server:1")
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
					t.Cleanup(func() { c.Close() })
				}
			}()
			result := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begin := time.Now()
			go func() {
				d := &extsock.Dialer{Config: &extsock.Config{
					Backend: network, Startup: startup, TLS: &tls.Config{ServerName: "server"},
				}}
				c, err := d.DialContext(ctx, "tcp", "server:1")
				if c != nil {
					c.Close()
				}
				result <- err
			}()
			select {
			case err := <-result:
				if took := time.Since(begin); err == nil || errors.Is(err, context.Canceled) || took > 11*time.Second {
					t.Errorf("startup %d: Dial = %v after %v", startup, err, took)
				}
			case <-time.After(time.Hour):
				t.Errorf("startup %d: Dial waits forever", startup)
				cancel()
				<-result
			}
			settle()
		})
	}
}
