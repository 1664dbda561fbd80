package extsock_test

import (
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// maxOpenObjects is how many objects the two ends of a connection in DDP mode may allocate together
// until Dial and Accept have returned, beyond those of a TCP connection. An object takes time when
// it is made, and again in each garbage collection, and opening a connection is mostly that.
const maxOpenObjects = 76

// TestObjectsOfOpening counts the objects that opening a connection allocates at both ends.
func TestObjectsOfOpening(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	tcp := objectsOfOpening(t, idleTCP)
	for _, kind := range []idleKind{idleStream, idleMessages} {
		n := objectsOfOpening(t, kind) - tcp
		t.Logf("%s: %d objects beyond TCP's %d", kind, n, tcp)
		if n > maxOpenObjects {
			t.Errorf("%s: %d objects beyond TCP's %d, want at most %d", kind, n, tcp, maxOpenObjects)
		}
	}
}

// objectsOfOpening returns how many objects one connection allocates, which is open then.
func objectsOfOpening(t *testing.T, kind idleKind) int {
	t.Helper()
	const warm, n = 16, 64
	listen, dial := kind.openers()
	l, err := listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var before, after runtime.MemStats
	open := make([]net.Conn, 0, 2*(warm+n))
	for i := range warm + n {
		if i == warm { // the pools have what they need
			runtime.ReadMemStats(&before)
		}
		c, err := dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		a, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c, a)
	}
	runtime.ReadMemStats(&after)
	for _, c := range open {
		c.Close()
	}
	return int(after.Mallocs-before.Mallocs) / n
}

// openers returns how a connection of this kind is opened.
func (k idleKind) openers() (listen func(network, address string) (net.Listener, error), dial func(network, address string) (net.Conn, error)) {
	if k == idleTCP {
		return net.Listen, net.Dial
	}
	cfg := idleJob{Kind: k}.config()
	listen = func(network, address string) (net.Listener, error) { return extsock.Listen(network, address, cfg) }
	dial = func(network, address string) (net.Conn, error) { return extsock.Dial(network, address, cfg) }
	return listen, dial
}

// TestOpenKeepsNoGoroutine: a connection that was opened, and that nobody has used, has no
// goroutine. Its first message and its first one-sided operation find one.
func TestOpenKeepsNoGoroutine(t *testing.T) {
	const n = 16
	cfg := idleJob{Kind: idleStream}.config()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := runtime.NumGoroutine() // one of them is the Listener's
	var dialed, accepted []*extsock.Conn
	for range n {
		c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		a, err := l.AcceptDDP()
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		dialed, accepted = append(dialed, c), append(accepted, a)
	}
	if runtime.GOOS == "linux" { // elsewhere nothing watches a socket
		prototest.Wait(t, "the connections have no goroutines", func() bool { return runtime.NumGoroutine() <= before+idleOthers })
	}
	for i, c := range dialed {
		for _, way := range [][2]*extsock.Conn{{c, accepted[i]}, {accepted[i], c}} {
			if i%2 == 0 {
				r, err := way[1].Register([]byte("12345678"), ddp.RemoteRead)
				if err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 8)
				if _, err := way[0].Remote(r.Handle()).ReadAt(p, 0); err != nil || string(p) != "12345678" {
					t.Errorf("RDMA Read: %q, %v", p, err)
				}
				continue
			}
			if _, err := way[0].Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(way[1], make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
	}
}
