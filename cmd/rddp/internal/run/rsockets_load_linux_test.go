//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rsockpeer"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// In this test, the other end is package rsockpeer's program of plain sockets under librdmacm's
// preload library.

// rsocketsConns is the number of simultaneous connections.
const rsocketsConns = 8

// rsocketsBytes returns the number of bytes for each direction of each connection: 2 GiB in all
// with full counts.
func rsocketsBytes() int64 { return int64(testmode.Count(128<<20, 4<<20)) }

// preloaded returns the command that runs rsockpeer under the preload library and a supervisor.
func preloaded(t *testing.T, peer string, load rsockpeer.Load, port int) *exec.Cmd {
	t.Helper()
	return iwarp(slices.Concat([]string{"env", "LD_PRELOAD=" + rsockpeer.Preload(t), peer}, load.Args("127.0.0.1", port))...)
}

// TestRSocketsLoad runs rsockpeer in either role, with either end sending the first byte and
// half-closing first. Each listening process accepts only two connections: from the fourth accepted
// connection on, librdmacm's event thread uses freed memory, and waits forever.
func TestRSocketsLoad(t *testing.T) {
	peer := rsockpeer.Build(t)
	for _, first := range []string{"client", "server"} {
		load := rsockpeer.Load{Bytes: rsocketsBytes(), First: first, Ends: first}
		t.Run("connect, "+first+" first", func(t *testing.T) {
			load.Role, load.Conns = "connect", rsocketsConns
			l, port := listenRSockets(t, rsocketsConfig)
			p := startRSockets(t, preloaded(t, peer, load, port), l.Close)
			var conns []net.Conn
			for range rsocketsConns {
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, c)
			}
			loadRSockets(t, load, conns, p)
		})
		t.Run("listen, "+first+" first", func(t *testing.T) {
			load.Role, load.Conns = "listen", 2
			var conns []net.Conn
			var peers []*rsocketsProcess
			for range rsocketsConns / load.Conns {
				port := freePort(t)
				p := startRSockets(t, preloaded(t, peer, load, port), nil)
				if err := awaitListener(port, p.ended); err != nil {
					t.Fatal(err)
				}
				for range load.Conns {
					c, err := extsock.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), rsocketsConfig)
					if err != nil {
						t.Fatal(err)
					}
					conns = append(conns, c)
				}
				peers = append(peers, p)
			}
			loadRSockets(t, load, conns, peers...)
		})
	}
}

// An rsocketsProcess is rsockpeer, or rstream of librdmacm.
type rsocketsProcess struct {
	out   bytes.Buffer // valid once ended has its value
	ended chan error
}

// startRSockets starts a program. If it has not ended after pairTime, the supervisor prints its
// stacks and ends, and the program and the connections end with it. stopped, if not nil, is called
// when the program has ended.
func startRSockets(t *testing.T, cmd *exec.Cmd, stopped func() error) *rsocketsProcess {
	t.Helper()
	p := &rsocketsProcess{ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := abortLate(t, pairTime, cmd)
	go func() {
		err := cmd.Wait()
		over()
		if stopped != nil {
			err = errors.Join(err, stopped())
		}
		p.ended <- err
	}()
	return p
}

// loadRSockets is the other end of the rsockpeers.
func loadRSockets(t *testing.T, load rsockpeer.Load, conns []net.Conn, peers ...*rsocketsProcess) {
	t.Helper()
	var ends sync.WaitGroup
	for _, c := range conns {
		t.Cleanup(func() { c.Close() })
		ends.Go(func() {
			if err := load.Transfer(c.(*extsock.Conn)); err != nil {
				t.Error(err)
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
