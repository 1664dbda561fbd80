package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

func TestParseRoutes(t *testing.T) {
	routes, err := ParseRoutes(strings.NewReader("# the exits\n\nrddp://:7174  127.0.0.1:80\t# web\r\n rddp://far:9 unix:/run/x"))
	if got := fmt.Sprint(routes); err != nil || got != "[{rddp://:7174 127.0.0.1:80} {rddp://far:9 unix:/run/x}]" {
		t.Errorf("%s, %v", got, err)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "no route"},
		{"#x\n", "no route"},
		{"\n:80", "line 2: a route has 2 addresses, where to listen and what to connect to, and not 1"},
		{":80 rddp://far x", "line 1: a route has 2 addresses"},
		{":80 rddp://far\n:81 rddp://far\n\n:80 rddp://near", "line 4: line 1 listens at :80 too"},
		{":80 rddp://far\nhere rddp://far", `line 2: "here" has no port`},
		{":80 rddp://far/x", "line 1: "},
		{":80 :81", "line 1: :80 :81: one of the two addresses must be DDP"},
		{":80 rddp://far\nrddp:// :80", "line 2: "},
		{"rddp://h :80\n:80 rddp://far", "line 2: the routes of one proxy all listen at rddp:// addresses, or none does"},
		{":80 rddp://far\n" + strings.Repeat("x", 1<<17), "line 2: "},
	} {
		if _, err := ParseRoutes(strings.NewReader(tt.text)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// FuzzParseRoutes: accepted routes are the same when they are formatted and parsed again.
func FuzzParseRoutes(f *testing.F) {
	f.Add(":80 rddp://far\n:81 rddp://far # x")
	f.Add("rddp://h unix:/a\n\n#\n")
	f.Fuzz(func(t *testing.T, text string) {
		routes, err := ParseRoutes(strings.NewReader(text))
		if err != nil {
			if len(routes) > 0 || !errors.Is(err, ErrNoRoute) && !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%q: %v, %v", text, routes, err)
			}
			return
		}
		var again strings.Builder
		for _, r := range routes {
			fmt.Fprintf(&again, "%v %v\n", r.Listen, r.To)
		}
		if got, err := ParseRoutes(strings.NewReader(again.String())); err != nil || fmt.Sprint(got) != fmt.Sprint(routes) {
			t.Errorf("%q: %v, read again %v, %v", text, routes, got, err)
		}
	})
}

// at returns the address at which a Router listens for a route.
func (r *Router) at(t *testing.T, listen string) string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.routes[address(t, listen)]
	if p == nil {
		t.Fatalf("there is no route %s", listen)
	}
	return p.Addr().String()
}

// said exchanges a text with the echo service at the other end of c.
func said(t *testing.T, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	io.WriteString(c, text)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Errorf("%q comes back as %q, %v", text, b, err)
	}
}

// Set replaces all routes or none, and does not affect connections and listeners that stay.
func TestRouter(t *testing.T) {
	other := tcptest.Serve(t, func(c *net.TCPConn) { io.WriteString(c, "other") })
	echo := tcptest.Serve(t, tcptest.Echo)
	const stays, comes = "rddp://127.0.0.1:0", "rddp://localhost:0"
	routes := func(pairs ...string) (all []Route) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, Route{address(t, pairs[i]), address(t, pairs[i+1])})
		}
		return all
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const free = "rddp://LOCALHOST:0"

	ctx, cancel := context.WithCancel(context.Background())
	r := NewRouter(&Config{Grace: -1})
	if r.IsReady() {
		t.Error("a Router without a route is ready")
	}
	if err := r.Set(ctx, routes(stays, echo, comes, echo)); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the Router is ready", r.IsReady)
	first, gone := r.at(t, stays), r.at(t, comes)
	through := func(exit string) net.Conn {
		t.Helper()
		return start(t, "127.0.0.1:0", exit, Config{}).dial(t)
	}
	a, b := through(first), through(gone)
	said(t, a, "one")
	said(t, b, "two")

	if err := r.Set(ctx, routes(stays, other, free, echo, "rddp://"+taken.Addr().String(), echo)); err == nil {
		t.Fatal("a Router listens where another one does")
	}
	if err := r.Set(ctx, append(routes(free, echo), Route{address(t, stays), address(t, "rddp://far")})); !errors.Is(err, ErrSides) {
		t.Errorf("a route with two sides in DDP mode: %v", err)
	}
	if err := r.Set(ctx, routes(free, echo, free, echo)); err == nil {
		t.Error("two routes listen at one address")
	}
	if r.at(t, stays) != first || r.at(t, comes) != gone || !r.IsReady() {
		t.Error("routes that were refused have changed something")
	}
	said(t, through(first), "still the echo")

	if err := r.Set(ctx, routes(stays, other)); err != nil {
		t.Fatal(err)
	}
	if r.at(t, stays) != first {
		t.Error("a listener that stays has another address")
	}
	if got, err := io.ReadAll(through(first)); err != nil || string(got) != "other" {
		t.Errorf("the new target says %q, %v", got, err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(gone, "rddp://")); err == nil {
		c.Close()
		t.Error("a route that has gone still listens")
	}
	said(t, a, "on with one")
	said(t, b, "on with two")
	if s := r.Stats(); s.Open < 2 {
		t.Errorf("%d connections are counted, of at least 2", s.Open)
	}
	cancel()
	if err := r.Wait(ctx); err != nil {
		t.Error(err)
	}
	if r.IsReady() || r.Stats().Open != 0 || r.Stats().There < int64(len("onetwoon with oneon with two")) {
		t.Errorf("at the end: ready %t, %+v", r.IsReady(), r.Stats())
	}
}

// A Router that cannot open all listeners opens none.
func TestRouterOpensAllOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	socket := filepath.Join(t.TempDir(), "socket")
	exit := address(t, "rddp://127.0.0.1:1")
	r := NewRouter(nil)
	if err := r.Set(t.Context(), []Route{{address(t, "unix:"+socket), exit}, {address(t, taken.Addr().String()), exit}}); err == nil {
		t.Fatal("a Router listens where another one does")
	}
	if _, err := os.Stat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the other listener: %v, want none", err)
	}
}

// The failure of a listener ends Wait with its error.
func TestRouterFails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := NewRouter(&Config{Grace: -1})
	listen := address(t, "rddp://127.0.0.1:0")
	if err := r.Set(ctx, []Route{{listen, address(t, "127.0.0.1:1")}}); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	p := r.routes[listen]
	r.mu.Unlock()
	p.l.close()
	if err := r.Wait(ctx); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Wait = %v", err)
	}
	cancel()
	if err := r.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// States never go back.
func TestState(t *testing.T) {
	p, err := Listen(t.Context(), address(t, "127.0.0.1:0"), address(t, "rddp://127.0.0.1:1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s != StateListening {
		t.Errorf("at first %v", s)
	}
	p.Close()
	if s := p.State(); s != StateDraining {
		t.Errorf("after Close %v", s)
	}
	_ = p.Serve(t.Context())
	if s := p.State(); s != StateEnded {
		t.Errorf("after Serve %v", s)
	}
	p.become(StateServing)
	if s := p.State(); s != StateEnded {
		t.Errorf("an ended Proxy is %v again", s)
	}
}

// isFree reports whether mu is free.
//
// +checklocksignore: the analyzer does not know TryLock
func (r *Router) isFree() bool {
	if !r.mu.TryLock() {
		return false
	}
	r.mu.Unlock()
	return true
}

// TestRouterWhileSetWaits: IsReady and Stats do not wait for a Set that waits for a name server.
func TestRouterWhileSetWaits(t *testing.T) {
	asked, release := make(chan struct{}, 100), make(chan struct{})
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked <- struct{}{}
		<-release
		return nil, errors.New("no name server today")
	}}
	ctx, cancel := context.WithCancel(context.Background())
	r := NewRouter(&Config{Grace: -1})
	first := Route{address(t, "127.0.0.1:0"), address(t, "rddp://127.0.0.1:1")}
	if err := r.Set(ctx, []Route{first}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the Router is ready", r.IsReady)
	set := make(chan error)
	go func() { set <- r.Set(ctx, []Route{first, {address(t, "slow.example:0"), first.To}}) }()
	<-asked
	if r.isFree() {
		if !r.IsReady() || r.Stats() != (Stats{}) {
			t.Errorf("ready: %t, %+v", r.IsReady(), r.Stats())
		}
	} else {
		t.Error("Set holds what IsReady and Stats need")
	}
	close(release)
	if err := <-set; err == nil {
		t.Error("Set has found slow.example")
	}
	if !r.IsReady() {
		t.Error("not ready after a Set that failed")
	}
	cancel()
	if err := r.Wait(ctx); err != nil {
		t.Error(err)
	}
}
