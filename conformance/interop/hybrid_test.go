//go:build interop

package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

const (
	hybridRuns    = 3  // of rping, one connection each; all three kinds of clients meet in each run
	hybridClients = 20 // curls, and as many rddp clients, in each run
	hybridSize    = 1000
	hybridFile    = 1 << 20 // octets that clients fetch and send
	hybridLimit   = 3 * time.Minute

	hybridWho = "an rddp client" // the private data of their Requests
)

// One port serves curl in plain TCP, rddp clients with HTTP in DDP mode, and rping of the guest
// over siw, at the same time. In each run, in the middle of the pings, a request of a curl and one
// of an rddp client are answered only when all three are under way. Meanwhile a silent connection
// waits.
func TestHybridPort(t *testing.T) {
	g := Start(t) // also installs curl
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	g.SetSiw(t, "fix_split_trailer=1") // siw's fault "split trailer": this stack's default is CRC on
	ctx, cancel := context.WithTimeout(t.Context(), hybridLimit)
	defer cancel()
	s := startHybrid(t, ctx)
	silent, err := net.Dial("tcp", s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	for run := range hybridRuns {
		if t.Failed() { // a client that has failed cannot meet the others
			break
		}
		meeting := s.newMeeting()
		var clients sync.WaitGroup
		clients.Go(func() { s.rping(g) })
		parallel := make(chan struct{}, 4)
		for i := range hybridClients {
			for _, client := range []func(i int) error{
				func(i int) error { return s.curl(curl, i) },
				s.rddp,
			} {
				clients.Go(func() {
					if i > 0 { // clients that meet others must not wait for a slot
						parallel <- struct{}{}
						defer func() { <-parallel }()
					}
					if err := client(i); err != nil {
						t.Errorf("run %d, client %d: %v", run, i, err)
					}
				})
			}
		}
		clients.Wait()
		if !meeting.held() {
			t.Errorf("run %d: not all three kinds of clients were served at one time", run)
		}
	}
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	want := map[string]int{
		"plain": hybridRuns * hybridClients, "rddp": hybridRuns * hybridClients, "iWARP": hybridRuns, "silent": 1,
	}
	if fmt.Sprint(s.served) != fmt.Sprint(want) {
		t.Errorf("connections of each kind: %v, want %v", s.served, want)
	}
	if want := hybridRuns * iterations; s.pings != want {
		t.Errorf("%d pings were answered, want %d", s.pings, want)
	}
}

// A hybrid is the server: one Listener in front of an HTTP server and a server for rping.
type hybrid struct {
	t       *testing.T
	ctx     context.Context
	l       *extsock.Listener
	web     *http.Server
	inbound *handedOver
	stop    context.CancelFunc
	running sync.WaitGroup
	file    []byte
	// rpingServed gets a value for each connection of rping whose server has seen its end.
	rpingServed chan struct{}

	mu      sync.Mutex
	meeting *meeting       // of the run
	served  map[string]int // connections by kind
	pings   int
}

func startHybrid(t *testing.T, ctx context.Context) *hybrid {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupPrefer, JudgeRequests: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &hybrid{t: t, l: l, served: make(map[string]int), file: Pattern(11, hybridFile), rpingServed: make(chan struct{}, hybridRuns)}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.inbound = &handedOver{addr: l.Addr(), conns: make(chan net.Conn), closed: make(chan struct{})}
	s.web = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(t.Output(), "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	s.running.Go(func() {
		if err := s.web.Serve(s.inbound); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the HTTP server: %v", err)
		}
	})
	s.running.Go(func() {
		for {
			c, err := acceptConn(l)
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(s.end)
	return s
}

// end closes everything and waits for it.
func (s *hybrid) end() {
	s.l.Close()
	s.stop()
	s.web.Close()
	s.running.Wait()
}

// serve detects the peer's protocol and passes the connection to the server for it.
func (s *hybrid) serve(c *extsock.Conn) {
	req, err := c.ReceiveRequest(s.ctx)
	switch {
	case errors.Is(err, extsock.ErrPlainTCP):
		s.count("plain")
		s.inbound.give(c)
	case err != nil && s.ctx.Err() != nil:
		s.count("silent")
		c.Close()
	case err != nil:
		s.t.Errorf("a connection from %v: %v", c.RemoteAddr(), err)
	case c.ConnectionState().PeerIsRDDP:
		s.count("rddp")
		if string(req.PrivateData) != hybridWho {
			s.t.Errorf("an rddp client's private data is %q", req.PrivateData)
		}
		if err := req.Accept(s.ctx, nil); err != nil {
			s.t.Errorf("accepting an rddp client: %v", err)
			return
		}
		s.inbound.give(c)
	default:
		s.count("iWARP")
		if len(req.PrivateData) != 0 || req.IRD != 1 || req.ORD != 1 {
			s.t.Errorf("rping's Request has the depths %d and %d and the private data %q, want 1, 1 and none", req.IRD, req.ORD, req.PrivateData)
		}
		if err := serveRping(s.ctx, c, req, s.pinged); err != nil {
			s.t.Errorf("serving rping: %v", err)
		}
		s.rpingServed <- struct{}{}
	}
}

func (s *hybrid) count(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[kind]++
}

// pinged counts the pings. In the middle of a connection's pings their server meets the others.
func (s *hybrid) pinged(n int, data []byte) {
	if bytes.HasPrefix(data, fmt.Appendf(nil, "rdma-ping-%d: ", n)) && len(data) == hybridSize {
		s.mu.Lock()
		s.pings++
		s.mu.Unlock()
	} else {
		s.t.Errorf("ping %d has the data %q", n, data)
	}
	if n == iterations/2 {
		s.meet()
	}
}

// newMeeting makes one client of each kind meet in the run that begins.
func (s *hybrid) newMeeting() *meeting {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meeting = newMeeting(3)
	return s.meeting
}

// meet is called while a client of each kind is served.
func (s *hybrid) meet() {
	s.mu.Lock()
	m := s.meeting
	s.mu.Unlock()
	m.wait(s.ctx)
}

// handler is an ordinary HTTP handler that can also report the mode of a request's connection.
func (s *hybrid) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mode", func(w http.ResponseWriter, r *http.Request) { // by any method
		mode := "TCP"
		if r.Context().Value(connKey{}).(*extsock.Conn).ConnectionState().DDPMode {
			mode = "DDP"
		}
		fmt.Fprint(w, mode)
	})
	mux.HandleFunc("GET /meet", func(w http.ResponseWriter, r *http.Request) { s.meet() })
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) { w.Write(s.file) })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Write(all)
	})
	return mux
}

// connKey is the context key of a request's *extsock.Conn.
type connKey struct{}

// curl runs the program, in plain TCP over one connection.
func (s *hybrid) curl(path string, i int) error {
	url := "http://" + s.l.Addr().String()
	args := []string{"-sS", "--fail", "--noproxy", "*", "--max-time", "60"}
	want := bytes.Clone(s.file)
	switch i % 4 {
	case 0: // two requests on one connection
		args = append(args, url+"/file", url+"/file")
		want = append(want, s.file...)
	case 1: // the first octets are those of an MPA Request's key
		args = append(args, "-X", "MPA", url+"/mode")
		want = []byte("TCP")
	case 2:
		args = append(args, "--data-binary", "@-", url+"/echo")
	case 3: // HTTP/1.0, which ends with the connection
		args = append(args, "--http1.0", url+"/file")
	}
	if i == 0 {
		args = append(args, url+"/meet")
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(s.file), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if !bytes.Equal(stdout.Bytes(), want) {
		return fmt.Errorf("%s: %d octets, want %d: or others", strings.Join(args, " "), stdout.Len(), len(want))
	}
	return nil
}

// rddp is an HTTP client with one connection, in DDP mode.
func (s *hybrid) rddp(i int) (err error) {
	dialer := &extsock.Dialer{Config: &extsock.Config{
		Startup: extsock.StartupPrefer, PrivateData: []byte(hybridWho),
		PreferTimeout: time.Minute, // this machine may be busy
	}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	ask := func(method, path string, body, want []byte) {
		if err != nil {
			return
		}
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, method, "http://"+s.l.Addr().String()+path, bytes.NewReader(body)); err != nil {
			return
		}
		var resp *http.Response
		if resp, err = transport.RoundTrip(req); err != nil {
			return
		}
		defer resp.Body.Close()
		var got []byte
		if got, err = io.ReadAll(resp.Body); err == nil && (resp.StatusCode != http.StatusOK || !bytes.Equal(got, want)) {
			err = fmt.Errorf("%s %s: %s with %d octets, want %d: or others", method, path, resp.Status, len(got), len(want))
		}
	}
	ask("GET", "/mode", nil, []byte("DDP"))
	if i == 0 {
		ask("GET", "/meet", nil, nil)
	}
	ask("GET", "/file", nil, s.file)
	ask("POST", "/echo", s.file, s.file)
	return err
}

// rping runs the program in the guest, over siw. It returns when the server has seen the end of the
// connection: rping may be gone before its FIN has arrived, and the end of the test would cut the
// server's wait short.
func (s *hybrid) rping(g *Guest) {
	_, port, err := net.SplitHostPort(s.l.Addr().String())
	if err != nil {
		s.t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	r, err := g.Run(ctx, "rping", "-c", "-a", HostIP, "-p", port, "-V", "-v", "-C", strconv.Itoa(iterations), "-S", strconv.Itoa(hybridSize))
	if err != nil || r.Code != 0 {
		s.t.Errorf("rping's exit status is %d, %v:\n%s", r.Code, err, r.Stderr)
	}
	if got := strings.Count(r.Stdout, "ping data: rdma-ping-"); got != iterations {
		s.t.Errorf("rping shows the data of %d pings, want %d", got, iterations)
	}
	select {
	case <-s.rpingServed:
	case <-ctx.Done():
		s.t.Errorf("rping has ended, and the server does not see the end of its connection: %v", context.Cause(ctx))
	}
}

// A handedOver is a net.Listener of connections that another Listener has accepted.
type handedOver struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// give passes c to the caller of Accept.
func (h *handedOver) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		c.Close()
	}
}

func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handedOver) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handedOver) Addr() net.Addr { return h.addr }

// A meeting is a barrier at which a number of goroutines wait for each other.
type meeting struct {
	mu      sync.Mutex
	missing int
	all     chan struct{} // closed when all have arrived
}

func newMeeting(n int) *meeting { return &meeting{missing: n, all: make(chan struct{})} }

// Each goroutine calls wait once.
func (m *meeting) wait(ctx context.Context) {
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
	case <-ctx.Done():
	}
}

// held reports whether all have arrived.
func (m *meeting) held() bool {
	select {
	case <-m.all:
		return true
	default:
		return false
	}
}

// acceptConn is l.Accept with a concrete result type.
func acceptConn(l net.Listener) (*extsock.Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*extsock.Conn), nil
}
