package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

var everyStartup = []extsock.Startup{extsock.StartupOff, extsock.StartupPrefer, extsock.StartupRequire}

// TestDialDDPAndAcceptDDP: whatever Config.Startup says at either end, both return connections in
// DDP mode.
func TestDialDDPAndAcceptDDP(t *testing.T) {
	for _, here := range everyStartup {
		for _, there := range everyStartup {
			t.Run(fmt.Sprintf("dial %d, accept %d", here, there), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					network := simtoe.New(simtoe.Config{})
					l, err := extsock.Listen("tcp", "rddp:1", &extsock.Config{Backend: network, Startup: there, JudgeRequests: here == extsock.StartupPrefer})
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
					accepted := make(chan *extsock.Conn, 1)
					go func() {
						c, err := l.AcceptDDP()
						if err != nil {
							t.Error(err)
						}
						accepted <- c
					}()
					d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: here}}
					c, err := d.DialDDP(t.Context(), "tcp", "rddp:1")
					if err != nil {
						t.Fatal(err)
					}
					x := <-accepted
					if !c.ConnectionState().DDPMode || !x.ConnectionState().DDPMode {
						t.Errorf("modes %v and %v", modeOf(c), modeOf(x))
					}
					c.Close()
					x.Close()
					settle()
				})
			})
		}
	}
}

// TestDialDDPNeverFallsBack: a peer that closes, or sends something else, causes an error each time
// it is dialed.
func TestDialDDPNeverFallsBack(t *testing.T) {
	tests := []struct {
		desc string
		peer func(s toe.Stream)
		want error
	}{
		{"closes", func(s toe.Stream) { io.ReadFull(s, make([]byte, 20)); s.Close() }, extsock.ErrNoReply},
		{"answers in text", func(s toe.Stream) {
			s.Write([]byte("220 hello\r\n"))
			io.Copy(io.Discard, s) // a Close with the Request unread would reset the connection
		}, extsock.ErrNotMPA},
	}
	for _, tt := range tests {
		for _, startup := range everyStartup {
			t.Run(fmt.Sprintf("%s, startup %d", tt.desc, startup), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					network := simtoe.New(simtoe.Config{})
					server := servePlain(t, network, "plain:1", func(_ int, s toe.Stream) { tt.peer(s) })
					d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: startup}}
					if c, err := dialConn(t.Context(), d, "tcp", "plain:1"); err == nil { // it may remember a fallback now
						c.Close()
					}
					for range 2 {
						if c, err := d.DialDDP(t.Context(), "tcp", "plain:1"); c != nil || !errors.Is(err, tt.want) {
							t.Errorf("DialDDP = %v, %v, want %v", c, err, tt.want)
						}
					}
					server.close()
					settle()
				})
			})
		}
	}
}

// TestAcceptDDPPassesOver: a silent peer, a plain peer and a peer whose startup fails come first,
// but AcceptDDP returns the connection in DDP mode at once.
func TestAcceptDDPPassesOver(t *testing.T) {
	for _, startup := range bySelf {
		bubble(t, func(t *testing.T) {
			network := simtoe.New(simtoe.Config{})
			l, err := extsock.Listen("tcp", "rddp:1", &extsock.Config{Backend: network, Startup: startup})
			if err != nil {
				t.Fatal(err)
			}
			var others []toe.Stream
			for _, text := range []string{"", "GET / HTTP/1.1\r\n\r\n", mpaKey + "\xff\xff\xff\xff"} {
				s, err := network.Dial(t.Context(), "tcp", "rddp:1")
				if err != nil {
					t.Fatal(err)
				}
				s.Write([]byte(text))
				others = append(others, s)
			}
			synctest.Wait()
			c, err := extsock.Dial("tcp", "rddp:1", &extsock.Config{Backend: network, Startup: extsock.StartupRequire})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			x, err := l.AcceptDDP()
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begin); d != 0 || !x.ConnectionState().DDPMode {
				t.Errorf("startup %d: AcceptDDP took %v, mode %v", startup, d, modeOf(x))
			}
			settle()
			others[1].SetReadDeadline(time.Now().Add(time.Second))
			if _, err := others[1].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("startup %d: the plain peer reads %v, want the end of the connection", startup, err)
			}
			l.Close()
			if _, err := l.AcceptDDP(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("AcceptDDP after Close: %v", err)
			}
			c.Close()
			x.Close()
			for _, s := range others {
				s.Close()
			}
			settle()
		})
	}
}

// TestAcceptDDPWithoutRoomForPrivateData: no connection could be switched, so AcceptDDP does not
// wait for one.
func TestAcceptDDPWithoutRoomForPrivateData(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, startup := range everyStartup {
			l, err := extsock.Listen("tcp", "rddp:1", &extsock.Config{Backend: simtoe.New(simtoe.Config{}), Startup: startup, PrivateData: make([]byte, 500)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.AcceptDDP(); !errors.Is(err, extsock.ErrPrivateData) {
				t.Errorf("AcceptDDP = %v", err)
			}
			l.Close()
		}
	})
}

// TestNothingPlainIsPromoted: a Dialer has no method that makes a plain connection of package net.
func TestNothingPlainIsPromoted(t *testing.T) {
	typ, names := reflect.TypeFor[*extsock.Dialer](), " "
	for m := range typ.NumMethod() {
		names += typ.Method(m).Name + " "
	}
	if want := " DialContext DialDDP "; names != want {
		t.Errorf("%v has the methods %s, want %s", typ, names, want)
	}
}
