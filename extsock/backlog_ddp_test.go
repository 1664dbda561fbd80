package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// This file tests the backlog in front of AcceptDDP, together with Config.MaxHalfOpen.

// silentPeers dials count connections that send nothing.
func silentPeers(t *testing.T, n *simtoe.Network, count int) []net.Conn {
	t.Helper()
	var peers []net.Conn
	for range count {
		s, err := n.Dial(t.Context(), "sim", "sim:1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		peers = append(peers, s)
	}
	synctest.Wait()
	return peers
}

// isOpen reports whether the other end has closed the connection of a peer that expects no bytes.
func isOpen(c net.Conn) bool {
	c.SetReadDeadline(time.Now().Add(1))
	defer c.SetReadDeadline(time.Time{})
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// keptOf checks that exactly the last want of the peers still have a connection.
func keptOf(t *testing.T, peers []net.Conn, want int) {
	t.Helper()
	for i, p := range peers {
		if got := isOpen(p); got != (i >= len(peers)-want) {
			t.Errorf("silent peer %d of %d: open %t; the last %d should be", i+1, len(peers), got, want)
			return
		}
	}
}

// TestSilentPeersShutNobodyOut: however many peers are silent, a server that calls AcceptDDP gets
// the honest peer at once, whether AcceptDDP or the silent peers come first. Beyond MaxHalfOpen,
// the oldest silent connections are closed.
func TestSilentPeersShutNobodyOut(t *testing.T) {
	for _, startup := range bySelf {
		for _, first := range []string{"AcceptDDP", "the silent peers", "the honest peer"} {
			for _, tt := range []struct{ silent, most, kept int }{ // the honest peer was half open, too, when it came
				{127, 0, 127}, {128, 0, 128}, {300, 0, 300}, {300, -1, 300}, {300, 301, 300}, {300, 300, 299}, {300, 129, 128}, {300, 128, 127}, {300, 2, 1}, {300, 1, 0},
			} {
				t.Run(fmt.Sprintf("startup %d, %s first, %d silent, MaxHalfOpen %d", startup, first, tt.silent, tt.most), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						l, n := simListener(t, extsock.Config{Startup: startup, MaxHalfOpen: tt.most})
						begin := time.Now()
						accepted, dialed := make(chan error, 1), make(chan error, 1)
						acceptDDP := func() {
							c, err := l.AcceptDDP()
							if err == nil {
								c.Close()
							}
							accepted <- err
						}
						dial := func() {
							c, err := extsock.Dial("sim", "sim:1", &extsock.Config{Backend: n, Startup: extsock.StartupRequire})
							if err == nil {
								c.Close()
							}
							dialed <- err
						}
						if first == "AcceptDDP" {
							go acceptDDP()
							synctest.Wait()
						}
						peers := silentPeers(t, n, tt.silent)
						go dial()
						if first == "the honest peer" {
							synctest.Wait()
						}
						if first != "AcceptDDP" {
							go acceptDDP()
						}
						if err := <-accepted; err != nil {
							t.Errorf("AcceptDDP = %v", err)
						}
						if err := <-dialed; err != nil {
							t.Errorf("Dial = %v", err)
						}
						if d := time.Since(begin); d != 0 {
							t.Errorf("it took %v", d)
						}
						synctest.Wait()
						keptOf(t, peers, tt.kept)
						l.Close()
						settle()
					})
				})
			}
		}
	}
}

// TestSilentPeersWithoutDeadlines: a stream without deadlines is also closed when its place goes to
// another connection.
func TestSilentPeersWithoutDeadlines(t *testing.T) {
	for _, startup := range bySelf {
		bubble(t, func(t *testing.T) {
			n := simtoe.New(simtoe.Config{})
			below, err := n.Listen(t.Context(), "sim", "sim:1")
			if err != nil {
				t.Fatal(err)
			}
			l := extsock.NewListener(listenerWithout{below}, &extsock.Config{Startup: startup, MaxHalfOpen: 3})
			go closeNext(t, l)
			synctest.Wait()
			peers := silentPeers(t, n, 10)
			keptOf(t, peers, 3)
			if k := extsock.BacklogLen(l); k != 3 {
				t.Errorf("startup %d: %d connections are in the backlog, want 3", startup, k)
			}
			l.Close()
			for _, p := range peers { // a Read without a deadline ends with its peer
				p.Close()
			}
			settle()
		})
	}
}

// listenerWithout accepts connections that have no deadlines.
type listenerWithout struct{ toe.Listener }

func (l listenerWithout) Accept() (net.Conn, error) {
	s, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return noDeadlines{s}, nil
}

// closeNext closes the connection that AcceptDDP returns next.
func closeNext(t *testing.T, l *extsock.Listener) {
	if c, err := l.AcceptDDP(); err == nil {
		c.Close()
	} else if !errors.Is(err, net.ErrClosed) {
		t.Errorf("AcceptDDP = %v", err)
	}
}

// lateRequest lets peers that were silent enter DDP mode. It returns how many have failed.
func lateRequest(t *testing.T, peers []net.Conn) (failed *atomic.Int64) {
	failed = new(atomic.Int64)
	for _, p := range peers {
		c := extsock.NewConn(p, true, nil)
		t.Cleanup(func() { c.Close() })
		go func() {
			if err := c.EnableDDP(context.Background(), nil); err != nil {
				failed.Add(1)
			}
		}()
	}
	return failed
}

// TestRequestsWaitForASeat: if many silent peers finally send their Requests, and the program does
// not call AcceptDDP, 128 of them enter DDP mode. The others enter it as the program takes
// connections, in the order in which they asked, and no later silent peer takes their place.
func TestRequestsWaitForASeat(t *testing.T) {
	for _, startup := range bySelf {
		for _, most := range []int{0, 200} {
			t.Run(fmt.Sprintf("startup %d, MaxHalfOpen %d", startup, most), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					t.Cleanup(settle)
					l, n := simListener(t, extsock.Config{Startup: startup, MaxHalfOpen: most})
					go closeNext(t, l)
					synctest.Wait()
					peers := silentPeers(t, n, 200)
					failed := lateRequest(t, peers)
					synctest.Wait()
					if k := extsock.BacklogSeated(l); k != extsock.BacklogSize {
						t.Errorf("%d connections are seated, want %d", k, extsock.BacklogSize)
					}
					more := silentPeers(t, n, 10)
					failedMore := lateRequest(t, more)
					synctest.Wait()
					if k := extsock.BacklogLen(l); k != len(peers) { // an Accept was under way when the last seat was taken
						t.Errorf("%d connections are in the backlog, want %d", k, len(peers))
					}
					for i := range len(peers) - 1 + len(more) {
						c, err := l.AcceptDDP()
						if err != nil {
							t.Fatal(err)
						}
						t.Cleanup(func() { c.Close() })
						synctest.Wait()
						if k, want := extsock.BacklogSeated(l), min(extsock.BacklogSize, len(peers)-2+len(more)-i); k != want {
							t.Fatalf("%d connections are seated behind connection %d, want %d", k, i, want)
						}
					}
					if a, b := failed.Load(), failedMore.Load(); a+b != 0 {
						t.Errorf("%d and %d connections have failed", a, b)
					}
					l.Close()
				})
			})
		}
	}
}

// TestCloseWithoutSeats: Close of the Listener ends connections that wait for a seat.
func TestCloseWithoutSeats(t *testing.T) {
	startups(t, func(t *testing.T, l *extsock.Listener, n *simtoe.Network, cfg *extsock.Config) {
		go closeNext(t, l)
		synctest.Wait()
		peers := silentPeers(t, n, 200)
		var ended atomic.Int64
		for _, p := range peers {
			go func() {
				c := extsock.NewConn(p, true, nil)
				defer c.Close()
				_ = c.EnableDDP(context.Background(), nil)
				if _, err := c.Read(make([]byte, 1)); err != nil {
					ended.Add(1)
				}
			}()
		}
		synctest.Wait()
		if k := extsock.BacklogLen(l); k != len(peers)-1 || ended.Load() != 1 { // AcceptDDP had one
			t.Errorf("%d connections are in the backlog and %d have ended", k, ended.Load())
		}
		l.Close()
		synctest.Wait()
		if k := ended.Load(); k != int64(len(peers)) {
			t.Errorf("%d of %d connections have ended", k, len(peers))
		}
	})
}

// TestAcceptTakesConnectionsWithoutSeats: a program that calls Accept after AcceptDDP gets all
// connections in the order in which they came: silent ones, ones that wait for a seat, ones in DDP
// mode, and finally plain TCP.
func TestAcceptTakesConnectionsWithoutSeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, n := simListener(t, extsock.Config{Startup: extsock.StartupPrefer})
		t.Cleanup(settle)
		go closeNext(t, l)
		synctest.Wait()
		peers := silentPeers(t, n, 300)
		failed := lateRequest(t, peers[:200]) // the first one is for AcceptDDP
		synctest.Wait()
		accepted := 0
		accept := func() {
			t.Helper()
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			accepted++
			synctest.Wait()
			want := "TCP"
			if accepted < 200 {
				want = "DDP"
			}
			if got := modeOf(c.(*extsock.Conn)); got != want {
				t.Fatalf("connection %d is in %s mode, want %s", accepted, got, want)
			}
			t.Cleanup(func() { c.Close() })
		}
		accept()
		for _, p := range peers[250:] {
			p.Write([]byte("GET / HTTP/1.1")) // Accept would return it
		}
		synctest.Wait()
		for accepted < 299 {
			accept()
		}
		if k := extsock.BacklogLen(l) + extsock.BacklogSeated(l); k != 0 || failed.Load() != 0 {
			t.Errorf("the backlog has %d connections, and %d have failed", k, failed.Load())
		}
		l.SetDeadline(time.Now())
		if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Accept = %v", err)
		}
	})
}

// TestBacklogInAnyOrder: silent, plain and honest peers come, and Accept and AcceptDDP are called,
// in a random order. The backlog keeps its limit, and in the end it is empty. An honest peer is
// lost only if it was among too many half-open connections.
func TestBacklogInAnyOrder(t *testing.T) {
	for seed := range testmode.Rounds(20, 4) {
		bubble(t, func(t *testing.T) {
			t.Cleanup(settle)
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			startup := bySelf[r.IntN(2)]
			most := []int{0, -1, 1, 60, 128, 200}[r.IntN(6)]
			l, n := simListener(t, extsock.Config{Startup: startup, MaxHalfOpen: most, HandshakeTimeout: time.Hour})
			var silent []net.Conn
			var lost, ended, honest atomic.Int64
			for range 60 {
				switch r.IntN(7) {
				case 0, 1:
					silent = append(silent, silentPeers(t, n, 1+r.IntN(100))...)
				case 2:
					for _, p := range silentPeers(t, n, r.IntN(50)) {
						p.Write([]byte("GET / HTTP/1.1"))
					}
				case 3: // silent peers speak, unless they were too many
					if k := min(r.IntN(100), len(silent)); k > 0 {
						lateRequest(t, silent[:k])
						silent = silent[k:]
					}
				case 4:
					for range 1 + r.IntN(40) {
						honest.Add(1)
						go func() {
							c, err := extsock.Dial("sim", "sim:1", &extsock.Config{Backend: n, Startup: extsock.StartupRequire, HandshakeTimeout: time.Hour})
							if err != nil {
								lost.Add(1)
								return
							}
							c.Read(make([]byte, 1))
							c.Close()
							ended.Add(1)
						}()
						synctest.Wait() // so that it is half open alone, unless it waits in the operating system
					}
				default:
					k, onlyDDP := r.IntN(60), r.IntN(2) == 0
					l.SetDeadline(time.Now().Add(time.Second))
					for range k {
						go func() {
							var c net.Conn
							var err error
							if onlyDDP {
								c, err = l.AcceptDDP()
							} else {
								c, err = l.Accept()
							}
							if err == nil {
								c.Close()
							}
						}()
					}
				}
				synctest.Wait()
				if k := extsock.BacklogSeated(l); k > extsock.BacklogSize {
					t.Fatalf("seed %d: %d connections are seated", seed, k)
				}
			}
			l.SetDeadline(time.Time{})
			go func() {
				for {
					c, err := l.AcceptDDP()
					if err != nil {
						return
					}
					c.Close()
				}
			}()
			synctest.Wait()
			if k := extsock.BacklogSeated(l); k != 0 {
				t.Errorf("seed %d: %d connections are seated after all were taken", seed, k)
			}
			if a, b := lost.Load(), ended.Load(); a+b != honest.Load() || a > 0 && most <= 0 {
				t.Errorf("seed %d: of %d honest peers %d were served and %d were lost", seed, honest.Load(), b, a)
			}
			l.Close()
			settle()
		})
	}
}
