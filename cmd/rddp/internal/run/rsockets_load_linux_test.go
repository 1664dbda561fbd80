//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/testmode"
)

// This test has testdata/rsockpeer.c, a program of plain sockets under librdmacm's preload library,
// connect to this stack: several connections, both directions of each at a time, writes of 1 byte to 1 MiB.

// rsocketsConns is how many connections there are at a time.
const rsocketsConns = 8

// rsocketsBytes are the bytes of each direction of each connection: 2 GiB in all with full counts.
func rsocketsBytes() int64 { return int64(testmode.Count(128<<20, 4<<20)) }

// buildPeer compiles rsockpeer.
func buildPeer(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rsockpeer")
	if out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", name, "testdata/rsockpeer.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// preloaded returns the command that runs rsockpeer under the preload library and a supervisor.
func preloaded(t *testing.T, peer string, port int, first string) *exec.Cmd {
	t.Helper()
	library, err := filepath.Glob("/usr/lib/*/rsocket/librspreload.so")
	if err != nil || len(library) == 0 {
		t.Fatalf("no librspreload.so: %v", err)
	}
	return iwarp("env", "LD_PRELOAD="+library[0], peer, "connect", "127.0.0.1", strconv.Itoa(port), strconv.Itoa(rsocketsConns), strconv.FormatInt(rsocketsBytes(), 10), first)
}

// TestRSocketsLoad has either end send the first byte.
func TestRSocketsLoad(t *testing.T) {
	peer := buildPeer(t)
	for _, first := range []string{"client", "server"} {
		t.Run(first+" first", func(t *testing.T) {
			l, port := listenRSockets(t, rsocketsConfig)
			loadRSockets(t, preloaded(t, peer, port, first), first == "server", l.Accept)
		})
	}
}

// loadRSockets is rsockpeer's other end. next returns its next connection, and begins says whether this
// end sends the first byte. The ends half-close one after the other: if librdmacm waits for room for the
// word about its end, and the peer's arrives meanwhile, it never sends its own, and the stream ends without it.
func loadRSockets(t *testing.T, cmd *exec.Cmd, begins bool, next func() (net.Conn, error)) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var ends sync.WaitGroup
	for range rsocketsConns {
		c, err := next()
		if err != nil {
			t.Fatal(err)
		}
		stop := context.AfterFunc(prototest.TimeLimit(t), func() { c.Close() })
		t.Cleanup(func() { stop(); c.Close() })
		heard, checked := make(chan struct{}), make(chan struct{})
		ends.Go(func() {
			if !begins {
				<-heard
			}
			if err := sendPattern(c); err != nil {
				t.Error(err)
			}
			<-checked
			if err := c.(*extsock.Conn).CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		ends.Go(func() {
			defer close(checked)
			if err := checkPattern(c, heard); err != nil {
				t.Error(err)
			}
		})
	}
	ends.Wait()
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

func patternAt(at int64) byte { return byte(at ^ at>>8 ^ at>>16) }

func sendPattern(c io.Writer) error {
	sizes, p := []int64{1 << 20, 3, 65536, 1, 100, 4096}, make([]byte, 1<<20)
	for at, turn := int64(0), 0; at < rsocketsBytes(); turn++ {
		b := p[:min(sizes[turn%len(sizes)], rsocketsBytes()-at)]
		for i := range b {
			b[i] = patternAt(at + int64(i))
		}
		if _, err := c.Write(b); err != nil {
			return fmt.Errorf("after %d bytes: %w", at, err)
		}
		at += int64(len(b))
	}
	return nil
}

// checkPattern closes heard at the first byte.
func checkPattern(r io.Reader, heard chan struct{}) error {
	var once sync.Once
	defer once.Do(func() { close(heard) })
	at, p := int64(0), make([]byte, 1<<16)
	for {
		n, err := r.Read(p)
		for i := range p[:n] {
			if p[i] != patternAt(at+int64(i)) {
				return fmt.Errorf("byte %d is wrong", at+int64(i))
			}
		}
		if at += int64(n); n > 0 {
			once.Do(func() { close(heard) })
		}
		switch {
		case err == io.EOF && at == rsocketsBytes():
			return nil
		case err != nil:
			return fmt.Errorf("after %d bytes of %d: %w", at, rsocketsBytes(), err)
		}
	}
}
