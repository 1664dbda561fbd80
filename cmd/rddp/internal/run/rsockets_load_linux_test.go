//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testmode"
)

// This test has testdata/rsockpeer.c, a program of plain sockets under librdmacm's preload library, at the
// other end: several connections, both directions of each at a time, writes of 1 byte to 1 MiB.

// rsocketsConns is how many connections there are at a time.
const rsocketsConns = 8

// rsocketsBytes are the bytes of each direction of each connection: 2 GiB in all with full counts.
func rsocketsBytes() int64 { return int64(testmode.Count(128<<20, 4<<20)) }

// buildPeer compiles rsockpeer.
func buildPeer(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rsockpeer")
	if out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", name, "testdata/rsockpeer.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// preloaded returns the command that runs rsockpeer, which listens or connects, under the preload library
// and a supervisor.
func preloaded(t *testing.T, peer, role string, port, conns int, first string) *exec.Cmd {
	t.Helper()
	return iwarp("env", "LD_PRELOAD="+rsocketsPreload(t), peer, role, "127.0.0.1", strconv.Itoa(port), strconv.Itoa(conns), strconv.FormatInt(rsocketsBytes(), 10), first)
}

// TestRSocketsLoad has rsockpeer in either role, and has either end send the first byte and half-close
// first. Listening ones have two connections each: of the fourth that one has accepted, and of later ones, the
// thread of librdmacm for its events uses freed memory, and waits forever.
func TestRSocketsLoad(t *testing.T) {
	peer := buildPeer(t)
	for _, first := range []string{"client", "server"} {
		t.Run("connect, "+first+" first", func(t *testing.T) {
			l, port := listenRSockets(t, rsocketsConfig)
			p := startRSockets(t, preloaded(t, peer, "connect", port, rsocketsConns, first), l.Close)
			var conns []net.Conn
			for range rsocketsConns {
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, c)
			}
			loadRSockets(t, conns, first == "server", p)
		})
		t.Run("listen, "+first+" first", func(t *testing.T) {
			const each = 2
			var conns []net.Conn
			var peers []*rsocketsProcess
			for range rsocketsConns / each {
				port := freePort(t)
				p := startRSockets(t, preloaded(t, peer, "listen", port, each, first), nil)
				if err := awaitListener(port, p.ended); err != nil {
					t.Fatal(err)
				}
				for range each {
					c, err := extsock.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), rsocketsConfig)
					if err != nil {
						t.Fatal(err)
					}
					conns = append(conns, c)
				}
				peers = append(peers, p)
			}
			loadRSockets(t, conns, first == "client", peers...)
		})
	}
}

// An rsocketsProcess is rsockpeer.
type rsocketsProcess struct {
	out   bytes.Buffer // once ended has its value
	ended chan error
}

// startRSockets starts rsockpeer. If it has not ended after pairTime, the supervisor prints its stacks, and
// takes the program and the connections along. stopped, if not nil, is called when it has ended.
func startRSockets(t *testing.T, cmd *exec.Cmd, stopped func() error) *rsocketsProcess {
	t.Helper()
	p := &rsocketsProcess{ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(pairTime, func() {
		t.Errorf("the transfers have not ended after %v", pairTime)
		_ = cmd.Process.Signal(syscall.SIGABRT)
	})
	go func() {
		err := cmd.Wait()
		stuck.Stop()
		if stopped != nil {
			err = errors.Join(err, stopped())
		}
		p.ended <- err
	}()
	return p
}

// loadRSockets is the other end of the rsockpeers, and leads says whether it sends the first byte and
// half-closes first. rsockpeer.c says why an end does not half-close at any time.
func loadRSockets(t *testing.T, conns []net.Conn, leads bool, peers ...*rsocketsProcess) {
	t.Helper()
	var ends sync.WaitGroup
	for _, c := range conns {
		t.Cleanup(func() { c.Close() })
		l := &loaded{Conn: c.(*extsock.Conn), heard: make(chan struct{}), ended: make(chan struct{})}
		ends.Go(func() {
			if err := l.send(leads); err != nil {
				t.Errorf("after %d bytes sent: %v; %+v", l.sent.Load(), err, l.Stats())
			}
		})
		ends.Go(func() {
			defer close(l.ended)
			if err := l.check(); err != nil {
				t.Errorf("after %d bytes of %d: %v; %+v", l.received.Load(), rsocketsBytes(), err, l.Stats())
			}
		})
	}
	ends.Wait()
	for _, p := range peers {
		if err := <-p.ended; err != nil {
			t.Errorf("%v\n%s", err, &p.out)
		}
	}
}

// A loaded is a connection with rsockpeer.
type loaded struct {
	*extsock.Conn
	heard, ended   chan struct{} // the peer's first byte, and its end
	sent, received atomic.Int64
}

func patternAt(at int64) byte { return byte(at ^ at>>8 ^ at>>16) }

// send sends this end's direction. An end that does not lead waits for the peer's first byte, and with its
// second half for the peer's half-close.
func (l *loaded) send(leads bool) error {
	first := rsocketsBytes()
	if !leads {
		<-l.heard
		first /= 2
	}
	if err := l.sendUntil(first); err != nil {
		return err
	}
	if !leads {
		<-l.ended
		if err := l.sendUntil(rsocketsBytes()); err != nil {
			return err
		}
	}
	return l.CloseWrite()
}

func (l *loaded) sendUntil(end int64) error {
	sizes, p := []int64{1 << 20, 3, 65536, 1, 100, 4096}, make([]byte, 1<<20)
	for turn := 0; l.sent.Load() < end; turn++ {
		at := l.sent.Load()
		b := p[:min(sizes[turn%len(sizes)], end-at)]
		for i := range b {
			b[i] = patternAt(at + int64(i))
		}
		if _, err := l.Write(b); err != nil {
			return err
		}
		l.sent.Add(int64(len(b)))
	}
	return nil
}

// check reads and checks the peer's direction, and closes heard at the first byte.
func (l *loaded) check() error {
	var once sync.Once
	defer once.Do(func() { close(l.heard) })
	for p := make([]byte, 1<<16); ; {
		n, err := l.Read(p)
		at := l.received.Load()
		for i := range p[:n] {
			if p[i] != patternAt(at+int64(i)) {
				return fmt.Errorf("byte %d is wrong", at+int64(i))
			}
		}
		if at = l.received.Add(int64(n)); n > 0 {
			once.Do(func() { close(l.heard) })
		}
		switch {
		case err == io.EOF && at == rsocketsBytes():
			return nil
		case err != nil:
			return err
		}
	}
}
