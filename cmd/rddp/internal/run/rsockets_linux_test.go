//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rsockpeer"
)

var rsocketsConfig = &extsock.Config{Startup: extsock.StartupRequire, RSockets: true}

// listenRSockets returns a Listener at a port of 127.0.0.1, and the port.
func listenRSockets(t *testing.T, cfg *extsock.Config) (*extsock.Listener, int) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// iwarp returns a command that runs a program under a supervisor whose device is an RNIC.
func iwarp(args ...string) *exec.Cmd {
	c := under(args...)
	c.Args[0], c.Stderr = superviseIWARP, nil
	return c
}

// TestRSocketsServer: librdmacm's rstream connects to a Go program, which echoes. With -T v,
// rstream checks the bytes.
func TestRSocketsServer(t *testing.T) {
	for _, args := range []string{"-S 1 -C 500", "-S 64 -C 300", "-S 4096 -C 40", "-S 100000 -C 1"} {
		t.Run(args, func(t *testing.T) {
			l, port := listenRSockets(t, rsocketsConfig)
			echoed := make(chan error, 1)
			go func() {
				c, err := l.Accept()
				if err == nil {
					_, err = io.Copy(c, struct{ io.Reader }{c})
					err = errors.Join(err, c.Close())
				}
				echoed <- err
			}()
			p := startRSockets(t, iwarp(slices.Concat([]string{"rstream", "-s", "127.0.0.1", "-T", "v", "-p", strconv.Itoa(port)}, strings.Fields(args))...), nil)
			if err := <-p.ended; err != nil {
				t.Errorf("%v\n%s", err, &p.out)
			}
			if err := <-echoed; err != nil {
				t.Error(err)
			}
		})
	}
}

// startRStream starts rstream as a server, and connects to it.
func startRStream(t *testing.T, args ...string) (c *extsock.Conn, server *exec.Cmd, ended chan error) {
	t.Helper()
	port := freePort(t)
	server = iwarp(slices.Concat([]string{"rstream", "-p", strconv.Itoa(port)}, args)...)
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := startRSockets(t, server, nil)
	ended = p.ended
	if err := awaitListener(port, ended); err != nil {
		t.Fatalf("%v\n%s", err, &p.out)
	}
	c, err := extsock.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), rsocketsConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, server, ended
}

// TestRSocketsClient: a Go program connects to librdmacm's rstream, and acts like rstream.
func TestRSocketsClient(t *testing.T) {
	const size, count = 4096, 40
	c, _, ended := startRStream(t, "-T", "v", "-S", strconv.Itoa(size), "-C", strconv.Itoa(count))
	// With -T v, rstream expects bytes that count up across transfers.
	sync, data := make([]byte, 16), make([]byte, size)
	for i := range sync {
		sync[i] = byte(i)
	}
	for i := range data {
		data[i] = byte(len(sync) + i)
	}
	exchange := func(out []byte, n int) {
		t.Helper()
		for range n {
			if _, err := c.Write(out); err != nil {
				t.Fatal(err)
			}
		}
		in := make([]byte, len(out))
		for range n {
			if _, err := io.ReadFull(c, in); err != nil {
				t.Fatal(err)
			}
		}
	}
	exchange(sync, 1)
	exchange(data, count)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
		t.Errorf("behind the last transfer: %d bytes, %v", n, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRSocketsKilled: when the C program is killed, a waiting Read fails, and not with io.EOF.
func TestRSocketsKilled(t *testing.T) {
	c, server, ended := startRStream(t, "-S", "4096", "-C", "40")
	if _, err := c.Write(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 17)
	if _, err := io.ReadFull(c, b[:16]); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-server.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := c.Read(b); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v", err)
	}
}

// TestRSocketsIperf runs iperf3 under the preload library at both ends. iperf3 waits for
// connections with select. librdmacm's select sometimes misses one for five seconds, until it polls
// again.
func TestRSocketsIperf(t *testing.T) {
	env := "env LD_PRELOAD=" + rsockpeer.Preload(t)
	for _, face := range []string{supervise, superviseIWARP} {
		for _, args := range []string{"", "-R", "-P 2"} {
			t.Run(face+" "+args, func(t *testing.T) {
				t.Parallel()
				runProgramPair(t, face, env+" iperf3 -s -1 -p %d", env+" iperf3 -c 127.0.0.1 -n 5M -p %d "+args)
			})
		}
	}
}

// TestRSocketsPreload: curl under librdmacm's preload library fetches a file from a net/http
// server, whose Listener also serves plain TCP.
func TestRSocketsPreload(t *testing.T) {
	preload := rsockpeer.Preload(t)
	l, port := listenRSockets(t, &extsock.Config{Startup: extsock.StartupPrefer, RSockets: true})
	file := prototest.Pattern[byte](3<<20, 7)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(file) })) //nolint:errcheck // ends with l
	address := fmt.Sprintf("http://127.0.0.1:%d/", port)
	for name, c := range map[string]*exec.Cmd{
		"rsockets": iwarp("env", "LD_PRELOAD="+preload, "curl", "-sS", "--max-time", "60", address),
		"TCP":      exec.Command("curl", "-sS", "--max-time", "60", address),
	} {
		var out, text bytes.Buffer
		c.Stdout, c.Stderr = &out, &text
		c.Env = append(os.Environ(), "NO_PROXY=127.0.0.1")
		before := extsock.TotalStats().Received.FPDUs
		if err := c.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &text)
		}
		if sha256.Sum256(out.Bytes()) != sha256.Sum256(file) {
			t.Errorf("%s: %d bytes of %d, or others\n%s", name, out.Len(), len(file), &text)
		}
		if ddp := extsock.TotalStats().Received.FPDUs > before; ddp != (name == "rsockets") {
			t.Errorf("%s: DDP %t", name, ddp)
		}
	}
}
