package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/filecopy"
	"github.com/rddp/rddp/cmd/rddp/internal/perf"
	"github.com/rddp/rddp/cmd/rddp/internal/ping"
	gateway "github.com/rddp/rddp/cmd/rddp/internal/proxy"
	"github.com/rddp/rddp/conformance/hostile/slowpeer"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
)

// A quietKind is a way to hold a connection and stay silent.
type quietKind struct {
	desc  string
	sends func(privateData string) []byte
}

var quietKinds = []quietKind{
	{"silent", func(string) []byte { return nil }},
	{"silent after the MPA Request", func(privateData string) []byte {
		return mpa.Frame{Revision: 1, CRC: true, PrivateData: []byte(privateData)}.AppendTo(nil)
	}},
}

// quietCount returns the number of silent peers to test with.
func quietCount() int { return testmode.Count(10_000, 1000) }

// TestFileServerStaysUsable: 10,000 peers hold connections to a file server for at most 64 clients,
// and stay silent from the beginning or after their MPA Request. Meanwhile, an honest client copies
// a file repeatedly. Without the tag conformance there are 1,000 peers.
func TestFileServerStaysUsable(t *testing.T) {
	n := quietCount()
	for _, kind := range quietKinds {
		t.Run(fmt.Sprintf("%d %s", n, kind.desc), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := filecopy.Listen("127.0.0.1:0", dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			serveUntilEnd(t, s.Serve)
			slowpeer.Start(t, slowpeer.Peers{Address: s.Addr().String(), N: n, Silent: true, Sends: kind.sends("rddp files\x02\x00\x01\xd4\xc0")})
			usable(t, func() error {
				to := filepath.Join(t.TempDir(), "f")
				var failure error
				_, err := filecopy.Copy(prototest.TimeLimit(t), []filecopy.Name{{Address: s.Addr().String(), Path: "f"}}, filecopy.Name{Path: to},
					&filecopy.Config{
						Socket: extsock.Config{HandshakeTimeout: patience(t)},
						Failed: func(_ string, err error) { failure = err },
					})
				if err != nil {
					return fmt.Errorf("%w: %w", err, failure)
				}
				if b, err := os.ReadFile(to); err != nil || string(b) != "content" {
					return fmt.Errorf("copied %q, %w", b, err)
				}
				return nil
			})
		})
	}
}

// TestProxyStaysUsable is the same test for a proxy: with silent peers of its exit, and clients of
// its entrance that connect and send nothing. The proxy has 1024 places, which is the default.
// Without the tag conformance it has 512.
func TestProxyStaysUsable(t *testing.T) {
	n, most := quietCount(), testmode.Count(gateway.DefaultMaxConns, 512)
	service := tcptest.Serve(t, func(c *net.TCPConn) {
		c.SetDeadline(time.Time{}) // a connection through the proxy lasts as long as its test
		io.Copy(c, c)
	})
	for _, kind := range quietKinds {
		t.Run(fmt.Sprintf("%d %s at the exit", n, kind.desc), func(t *testing.T) {
			entrance, exit := tunnel(t, service, most)
			slowpeer.Start(t, slowpeer.Peers{Address: exit, N: n, Silent: true, Sends: kind.sends("")})
			usable(t, func() error { return echoes(t, entrance) })
		})
	}
	t.Run(fmt.Sprintf("%d silent at the entrance", n), func(t *testing.T) {
		entrance, _ := tunnel(t, service, most)
		slowpeer.Start(t, slowpeer.Peers{Address: entrance, N: n, Silent: true})
		usable(t, func() error { return echoes(t, entrance) })
	})
}

// TestPingServerStaysUsable is the same test for a ping server, also for one that serves a single
// client and ends.
func TestPingServerStaysUsable(t *testing.T) {
	n := quietCount()
	for _, persistent := range []bool{true, false} {
		t.Run(fmt.Sprintf("%d silent, persistent %t", n, persistent), func(t *testing.T) {
			s, err := ping.Listen("127.0.0.1:0", &ping.Config{Persistent: persistent})
			if err != nil {
				t.Fatal(err)
			}
			serveUntilEnd(t, s.Serve)
			slowpeer.Start(t, slowpeer.Peers{Address: s.Addr().String(), N: n, Silent: true})
			once := func() error {
				_, err := ping.Client(prototest.TimeLimit(t), s.Addr().String(), &ping.Config{Count: 1})
				return err
			}
			if persistent {
				usable(t, once)
			} else if err := once(); err != nil {
				t.Errorf("the honest client: %v", err)
			}
		})
	}
}

// TestPerfStaysUsable is the same test for a server of rddp perf, which has places for 256 silent
// peers.
func TestPerfStaysUsable(t *testing.T) {
	s, err := perf.Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	serveUntilEnd(t, s.Serve)
	slowpeer.Start(t, slowpeer.Peers{Address: s.Addr().String(), N: quietCount(), Silent: true})
	usable(t, func() error {
		_, err := perf.Run(prototest.TimeLimit(t), &perf.Options{
			Addresses: []string{s.Addr().String()}, Ops: []string{"write"}, Sizes: []int{1000}, Depths: []int{1}, Rounds: 1, Time: time.Millisecond,
			Ring: 1 << 16, NoGate: true,
		})
		return err
	})
}

// patience returns the time that an honest client waits for the MPA Reply. Zero means the default
// of clients.
func patience(t *testing.T) time.Duration {
	if testmode.Full {
		return 0
	}
	return prototest.Patience(t)
}

// usable checks that an honest client succeeds ten times in a row, each time within its own
// timeouts.
func usable(t *testing.T, client func() error) {
	t.Helper()
	for i := range 10 {
		if err := client(); err != nil {
			t.Fatalf("the honest client, time %d: %v", i, err)
		}
	}
}

// serveUntilEnd runs serve until the test ends.
func serveUntilEnd(t *testing.T, serve func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// tunnel starts an exit to service and an entrance to the exit, each for at most most connections,
// and returns their addresses.
func tunnel(t *testing.T, service string, most int) (entrance, exit string) {
	t.Helper()
	start := func(listen, to gateway.Address) string {
		p, err := gateway.Listen(t.Context(), listen, to, &gateway.Config{MaxConns: most, Grace: -1})
		if err != nil {
			t.Fatal(err)
		}
		serveUntilEnd(t, p.Serve)
		return p.Addr().Address
	}
	any := gateway.Address{Network: "tcp", Address: "127.0.0.1:0"}
	ddp := gateway.Address{DDP: true, Network: "tcp", Address: any.Address}
	exit = start(ddp, gateway.Address{Network: "tcp", Address: service})
	ddp.Address = exit
	return start(any, ddp), exit
}

// echoes sends bytes through an entrance to the service, and checks that they come back.
func echoes(t *testing.T, entrance string) error {
	c, err := net.Dial("tcp", entrance)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(prototest.Deadline(t))
	if _, err := io.WriteString(c, "works"); err != nil {
		return err
	}
	b := make([]byte, len("works"))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "works" {
		return fmt.Errorf("got %q, %w", b, err)
	}
	return nil
}
