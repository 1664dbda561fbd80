package monitor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// After an answer to a bad request, a goroutine of net/http waits half a second for the client to
// read it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit), goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// start serves the handler of a command, and returns its address.
func start(t *testing.T, step time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := serve(l, nil, Handler("rddp test", Counter("rddp_test_things_total", "Things.", func() float64 { return 7 }, "kind", "good"),
		Gauge("rddp_test_open", "Open things.", func() float64 { return 3 })), slog.New(slog.DiscardHandler), step)
	t.Cleanup(stop)
	return l.Addr().String()
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	client := &http.Client{Timeout: prototest.Patience(t), Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

// TestMetrics checks /metrics with Prometheus's parser and linter.
func TestMetrics(t *testing.T) {
	at := "http://" + start(t, prototest.Patience(t))
	r := get(t, at+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", r.StatusCode, err)
	}
	for _, name := range []string{"rddp_connections_total", "rddp_wire_bytes_total", "go_goroutines", "go_build_info", "rddp_test_open"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	if f := families["rddp_test_things_total"]; f == nil || f.GetMetric()[0].GetCounter().GetValue() != 7 || f.GetMetric()[0].GetLabel()[0].GetValue() != "good" {
		t.Errorf("the command's own counter is %v", f)
	}
	problems, err := testutil.CollectAndLint(Counter("rddp_test_things_total", "Things.", func() float64 { return 7 }))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for path, want := range map[string]int{"/": http.StatusOK, "/none": http.StatusNotFound, "/connections/1": http.StatusNotFound} {
		if got := get(t, at+path).StatusCode; got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
}

// TestConnections compares the client's snapshot with the Stats of the connections.
func TestConnections(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := new(extsock.Dialer).DialDDP(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.AcceptDDP()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near.Write(make([]byte, 1000))
	if _, err := io.ReadFull(far, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	client := NewClient(start(t, prototest.Patience(t)), nil, prototest.Patience(t))
	defer client.Close()
	s, err := client.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Process; p.Command != "rddp test" || p.Open != 2 || p.Connections < 2 || p.MemoryLimit == 0 || p.Time.Before(p.Started) {
		t.Errorf("the process is %+v", p)
	}
	if len(s.Connections) != 2 {
		t.Fatalf("there are %+v", s.Connections)
	}
	for _, c := range s.Connections {
		end := far
		if c.Role == "initiator" {
			end = near
		}
		if c.Local != end.LocalAddr().String() || c.Peer != end.RemoteAddr().String() || c.Mode != "stream" ||
			c.ReceivedBytes != end.Stats().Received.Octets || c.SentBytes != end.Stats().Sent.Octets || c.SentMessages+c.ReceivedMessages < 1 || c.Since.After(c.Time) {
			t.Errorf("a connection is %+v; its Stats are %+v", c, end.Stats())
		}
	}
}

// TestClientErrors: each error is described in one line.
func TestClientErrors(t *testing.T) {
	ctx := prototest.TimeLimit(t)
	answers := func(status int, text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	hijacked := func(text string) string { // not HTTP, but sent only after a request
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				io.WriteString(c, text)
				c.Close()
			}
		}))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tt := range []struct {
		desc, address, want string
		is                  error
	}{
		{desc: "another server", address: answers(404, "none"), want: `answers "404 Not Found"`, is: ErrNotMonitor},
		{desc: "another text", address: answers(200, "hello\n"), want: "is not the --metrics address", is: ErrNotMonitor},
		{desc: "nothing", address: answers(200, ""), want: "is not the --metrics address", is: ErrNotMonitor},
		{desc: "a long line", address: answers(200, strings.Repeat("x", 1<<20)), want: "is not the --metrics address", is: ErrNotMonitor},
		{desc: "another line", address: answers(200, `{"kind":"process"}`+"\n{}\n"), want: "is not the --metrics address", is: ErrNotMonitor},
		{desc: "TLS", address: answers(400, "Client sent an HTTP request to an HTTPS server.\n"), want: "speaks TLS: give --tls-pin"},
		{desc: "TLS without HTTP", address: hijacked("\x15\x03\x03\x00\x02\x02\x46"), want: "speaks TLS: give --tls-pin"},
		{desc: "no HTTP", address: hijacked("hello\r\n"), want: "is not the --metrics address", is: ErrNotMonitor},
		{desc: "the end", address: hijacked(""), want: "is not the --metrics address", is: ErrNotMonitor},
		{desc: "nobody", address: "127.0.0.1:1", want: "connecting to 127.0.0.1:1: "},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			client := NewClient(tt.address, nil, prototest.Patience(t))
			defer client.Close()
			if _, err := client.Get(ctx); err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	short := NewClient(silent.Addr().String(), nil, 1)
	defer short.Close()
	if _, err := short.Get(ctx); err == nil || !strings.Contains(err.Error(), "does not answer within 1ns") {
		t.Errorf("a silent server: %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := short.Get(over); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
}

// TestHostileClients: connections of clients that are silent, send endless requests, do not read,
// or are too many, last at most one step. A scrape succeeds after they have lost their connections.
func TestHostileClients(t *testing.T) {
	address := start(t, time.Second/5)
	var hostile []net.Conn
	for i := range 3 * maxClients {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		hostile = append(hostile, c)
		switch i % 3 {
		case 0: // silent
		case 1:
			io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		case 2: // reads no answer
			io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 1000))
		}
	}
	client := &http.Client{Timeout: prototest.Patience(t), Transport: &http.Transport{DisableKeepAlives: true}}
	prototest.Wait(t, "a scrape succeeds", func() bool { // one may need longer than a step on a busy machine
		r, err := client.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	for i, c := range hostile {
		c.SetReadDeadline(prototest.Deadline(t))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("hostile client %d still has its connection", i)
		}
	}
	big, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	fmt.Fprintf(big, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Big: %s\r\n\r\n", strings.Repeat("x", 64<<10))
	big.SetReadDeadline(prototest.Deadline(t))
	if line, err := bufio.NewReader(big).ReadString('\n'); err == nil && !strings.Contains(line, "431 ") {
		t.Errorf("a large header: %q", line)
	}
}

// TestRedirect: a client does not follow redirects.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked elsewhere") }))
	defer elsewhere.Close()
	here := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/secret", http.StatusFound))
	defer here.Close()
	c := NewClient(strings.TrimPrefix(here.URL, "http://"), nil, prototest.Patience(t))
	defer c.Close()
	if _, err := c.Get(t.Context()); !errors.Is(err, ErrNotMonitor) {
		t.Errorf("%v, want %v", err, ErrNotMonitor)
	}
}

// TestZone: the address of a command may have a zone.
func TestZone(t *testing.T) {
	const address = "[fe80::1%eth0]:9174"
	c := NewClient(address, nil, prototest.Patience(t))
	defer c.Close()
	var dialed string
	c.http.Transport.(*http.Transport).DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = address
		return nil, errors.New("no network today")
	}
	if _, err := c.Get(t.Context()); err == nil || dialed != address {
		t.Errorf("dialed %q, %v, want %q", dialed, err, address)
	}
}
