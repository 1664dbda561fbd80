package apps_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// handlers are ordinary HTTP handlers that do not depend on the transport.
func handlers(src source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 { // by default the server reads the whole body before it answers
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.Header().Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
		io.Copy(w, r.Body)
	})
	mux.HandleFunc("POST /sum", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		if _, err := io.Copy(h, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Write(h.Sum(nil))
	})
	mux.HandleFunc("GET /octets/{from}/{n}", func(w http.ResponseWriter, r *http.Request) {
		from, err1 := strconv.Atoi(r.PathValue("from"))
		n, err2 := strconv.Atoi(r.PathValue("n"))
		if err1 != nil || err2 != nil {
			http.Error(w, "not a number", http.StatusBadRequest)
			return
		}
		w.Write(src[from : from+n])
	})
	mux.HandleFunc("GET /endless", func(w http.ResponseWriter, r *http.Request) {
		for { // until the client closes the connection
			if _, err := w.Write(src[:64<<10]); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("GET /panic", func(w http.ResponseWriter, r *http.Request) {
		w.Write(src[:100])
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("POST /refuse", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "too much", http.StatusRequestEntityTooLarge)
	})
	return mux
}

// A protocol is a version of HTTP over extended sockets.
type protocol struct {
	name  string
	major int
	tls   bool
}

var protocols = []protocol{
	{name: "HTTP/1.1", major: 1},
	{name: "HTTP/2", major: 2},
	{name: "HTTP/2 over TLS", major: 2, tls: true},
}

// A site is a server and its client.
type site struct {
	protocol
	t      *testing.T
	url    string
	server *http.Server
	client *http.Client
	served chan error
	dialer dialer
	// answered, if not nil, gets a value for each connection that the server may close. The field
	// never changes.
	answered chan struct{}

	mu       sync.Mutex
	accepted map[*extsock.Conn]bool // whether it was in DDP mode at its first request
}

func newSite(t *testing.T, p protocol, src source, answered chan struct{}) *site {
	s := &site{protocol: p, t: t, served: make(chan error, 1), accepted: make(map[*extsock.Conn]bool), answered: answered}
	l := net.Listener(waitingListener{listen(t), s})
	var speaks http.Protocols
	speaks.SetHTTP1(p.major == 1)
	speaks.SetHTTP2(p.major == 2 && p.tls)
	speaks.SetUnencryptedHTTP2(p.major == 2 && !p.tls)
	s.server = &http.Server{
		Handler: handlers(src), Protocols: &speaks, ConnState: s.note, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(t.Output(), "", 0),
	}
	transport := &http.Transport{
		DialContext: s.dialer.DialContext, Protocols: &speaks,
		MaxConnsPerHost: inParallel, MaxIdleConnsPerHost: inParallel, // otherwise a request dials whenever no connection is idle yet
	}
	s.client = &http.Client{Transport: transport}
	s.url = "http://" + l.Addr().String()
	if p.tls {
		s.url = "https://" + l.Addr().String()
		s.server.TLSConfig, transport.TLSClientConfig = newTLS(t)
		go func() { s.served <- s.server.ServeTLS(l, "", "") }()
	} else {
		go func() { s.served <- s.server.Serve(l) }()
	}
	return s
}

// A waitingListener accepts connections of a site.
type waitingListener struct {
	net.Listener
	s *site
}

func (l waitingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &waiting{Conn: c.(*extsock.Conn), s: l.s}, nil
}

// A waiting is a connection of the server whose Close waits for its site's answered.
type waiting struct {
	*extsock.Conn
	s    *site
	once sync.Once
}

// Close closes the connection. If the site has answered, it first waits until the client has its
// answer.
func (c *waiting) Close() error {
	c.once.Do(func() {
		if c.s.answered != nil {
			select {
			case <-c.s.answered:
			case <-c.s.t.Context().Done():
			}
		}
	})
	return c.Conn.Close()
}

// note is the server's ConnState.
func (s *site) note(c net.Conn, state http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if state != http.StateActive {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := c.(*waiting).Conn
	s.accepted[e] = e.ConnectionState().DDPMode
}

// shutdown ends the server in an orderly way and checks the number and the mode of its connections.
func (s *site) shutdown(limit int) {
	s.t.Helper()
	ctx := prototest.TimeLimit(s.t)
	s.client.CloseIdleConnections()
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Errorf("Shutdown: %v", err)
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		s.t.Errorf("Serve: %v", err)
	}
	s.dialer.wantDDP(s.t, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.accepted) == 0 {
		s.t.Error("the server saw no connection")
	}
	for c, ddp := range s.accepted {
		if !ddp {
			s.t.Errorf("a request came from %v in TCP mode", c.RemoteAddr())
		}
	}
	settled(s.t)
}

// do makes a request, checks the status and protocol of the answer, and returns it.
func (s *site) do(ctx context.Context, method, path string, body io.Reader, status int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.ProtoMajor != s.major || resp.StatusCode != status || (resp.TLS != nil) != s.tls {
		resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s in %s", method, path, resp.Status, resp.Proto)
	}
	return resp, nil
}

// awaitShared waits until other requests find the connection of the first one. With HTTP/2 the
// client shares a connection some time after the first request has got it, without notice, and
// dials for other requests until then. So the requests of awaitShared may not dial.
func (s *site) awaitShared(ctx context.Context) {
	s.t.Helper()
	s.dialer.enough.Store(true)
	defer s.dialer.enough.Store(false)
	for s.major == 2 {
		resp, err := s.do(ctx, "GET", "/octets/0/0", nil, http.StatusOK)
		if errors.Is(err, errEnough) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err == nil {
			err = want(resp, nil)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return
	}
}

// want checks that the body of an answer is p, and reads it to its end so that the connection can
// be used again.
func want(resp *http.Response, p []byte) error {
	defer resp.Body.Close()
	h := sha256.New()
	n, err := io.Copy(h, resp.Body)
	if err != nil {
		return fmt.Errorf("after %d octets of %d: %w", n, len(p), err)
	}
	if sum := sha256.Sum256(p); n != int64(len(p)) || !bytes.Equal(h.Sum(nil), sum[:]) {
		return fmt.Errorf("%d octets, want %d: or others", n, len(p))
	}
	return nil
}

// TestHTTP exchanges 1,000 requests of 1 B to 16 MiB between the standard library's client and
// server, and checks every octet.
func TestHTTP(t *testing.T) {
	for i, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			random := newRandom(t, uint64(i+1))
			src := newSource(random, 2*largest)
			lengths := sizes(random, 1000, smallest, largest, largeBudget())
			from := make([]int, len(lengths))
			for i, n := range lengths {
				from[i] = random.IntN(len(src) - n + 1)
			}
			s := newSite(t, p, src, nil)
			ctx := prototest.TimeLimit(t)
			var reused, sum atomic.Int64
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
				if info.Reused {
					reused.Add(1)
				}
			}})
			exchange := func(i int) error {
				body := src[from[i]:][:lengths[i]]
				sum.Add(int64(len(body)))
				kind := i % 3
				if len(body) == largest { // both ways
					kind = 0
				}
				switch kind {
				case 0:
					resp, err := s.do(ctx, "POST", "/echo", bytes.NewReader(body), http.StatusOK)
					if err != nil {
						return err
					}
					return want(resp, body)
				case 1:
					resp, err := s.do(ctx, "POST", "/sum", bytes.NewReader(body), http.StatusOK)
					if err != nil {
						return err
					}
					sum := sha256.Sum256(body)
					return want(resp, sum[:])
				default:
					resp, err := s.do(ctx, "GET", fmt.Sprintf("/octets/%d/%d", from[i], len(body)), nil, http.StatusOK)
					if err != nil {
						return err
					}
					return want(resp, body)
				}
			}
			if err := exchange(0); err != nil { // otherwise each of the first ones would dial
				t.Fatal(err)
			}
			s.awaitShared(prototest.TimeLimit(t))
			each(t, len(lengths)-1, func(i int) error { return exchange(i + 1) })
			limit := inParallel
			if p.major == 2 {
				limit = 1
			}
			if n := reused.Load(); n < int64(len(lengths)-limit) {
				t.Errorf("%d of %d requests came over a connection that was there", n, len(lengths))
			}
			t.Logf("%d requests, %d MiB, %d connections", len(lengths), sum.Load()>>20, len(s.dialer.conns))
			s.shutdown(limit)
		})
	}
}

// TestHTTPCancel cancels requests in the middle of an endless download.
func TestHTTPCancel(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			s := newSite(t, p, newSource(newRandom(t, 7), 64<<10), nil)
			ctx := prototest.TimeLimit(t)
			for range 8 {
				ctx, cancel := context.WithCancel(ctx)
				resp, err := s.do(ctx, "GET", "/endless", nil, http.StatusOK)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
					t.Errorf("before the end: %v", err)
				}
				cancel()
				if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
					t.Errorf("after cancel: %v, want %v", err, context.Canceled)
				}
				resp.Body.Close()
			}
			s.shutdown(8)
		})
	}
}

// TestHTTPPanic makes a handler panic in the middle of its answer. The client learns that the
// answer is incomplete.
func TestHTTPPanic(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			src := newSource(newRandom(t, 8), 64<<10)
			s := newSite(t, p, src, nil)
			ctx := prototest.TimeLimit(t)
			for range 8 {
				resp, err := s.do(ctx, "GET", "/panic", nil, http.StatusOK)
				if err != nil {
					continue // the client may learn it before the header
				}
				if err := want(resp, src[:100]); err == nil {
					t.Error("the answer came to its proper end")
				}
				resp, err = s.do(ctx, "GET", "/octets/5/1000", nil, http.StatusOK)
				if err != nil {
					t.Fatalf("after a handler's panic: %v", err)
				}
				if err := want(resp, src[5:1005]); err != nil {
					t.Error(err)
				}
			}
			s.shutdown(17)
		})
	}
}

// TestHTTPEarlyResponse makes the server refuse an upload before it has arrived. The answer arrives
// anyway. The server of HTTP/1.1 ends its direction and closes the connection half a second later,
// even if the client has not read the answer. Here Close waits until the client has read it.
func TestHTTPEarlyResponse(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			src := newSource(newRandom(t, 9), 64<<10)
			s := newSite(t, p, src, make(chan struct{}, 8))
			for range 8 {
				body := io.LimitReader(endless(src), largest)
				resp, err := s.do(prototest.TimeLimit(t), "POST", "/refuse", body, http.StatusRequestEntityTooLarge)
				if err != nil {
					t.Fatal(err)
				}
				if err := want(resp, []byte("too much\n")); err != nil {
					t.Error(err)
				}
				s.answered <- struct{}{}
			}
			s.shutdown(8)
		})
	}
}

// endless is an endless reader that repeats the same octets.
type endless []byte

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// newTLS returns the configurations of a server and its clients.
func newTLS(t *testing.T) (server, client *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	server = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return server, &tls.Config{RootCAs: roots}
}
