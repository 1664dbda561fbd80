package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// options has for each option its value by default, one to set, some that it can't have, and its
// value in DDP mode when the Initiator has set the one and the Responder nothing.
var options = []struct {
	name            string
	opt             int
	def, set, inDDP int
	bad             []int
}{
	{"DDP_MARKERS", extsock.DDP_MARKERS, 0, 1, 1, []int{-1, 2}},
	{"DDP_CRC", extsock.DDP_CRC, 1, 0, 1, []int{-1, 2}}, // the Responder wants it
	{"DDP_MPA_REVISION", extsock.DDP_MPA_REVISION, 2, 1, 1, []int{-1, 0, 3}},
	{"DDP_MAX_FPDU", extsock.DDP_MAX_FPDU, 0, 1000, 1000, []int{-1, 1, 135, 64777}},
	{"DDP_IRD", extsock.DDP_IRD, 16, 5, 5, []int{-1, 16383}},
	{"DDP_ORD", extsock.DDP_ORD, 16, 0, 0, []int{-1, 16383}},
	{"DDP_RECV_DEPTH", extsock.DDP_RECV_DEPTH, 32, 5, 5, []int{-1, 0, 1 << 16}},
	{"DDP_RECV_SIZE", extsock.DDP_RECV_SIZE, 64 << 10, 1000, 1000, []int{-1, 0}},
	{"DDP_CROSSOVER", extsock.DDP_CROSSOVER, 0, -1, -1, []int{-2}},
	{"DDP_MESSAGES", extsock.DDP_MESSAGES, 0, 1, 1, []int{-1, 2}},
}

// TestOptions sets each option on one connection of several that share a Config.
func TestOptions(t *testing.T) {
	for _, o := range options {
		t.Run(o.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				shared := extsock.Config{}
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				ci, cr := extsock.NewConn(a, true, &shared), extsock.NewConn(b, false, &shared)
				defer ci.Close()
				defer cr.Close()
				get := func(c *extsock.Conn, want int) {
					t.Helper()
					if v, err := c.GetsockoptInt(extsock.SOL_DDP, o.opt); v != want || err != nil {
						t.Errorf("the value is %d, %v, want %d", v, err, want)
					}
				}
				get(ci, o.def)
				for _, bad := range o.bad {
					if err := ci.SetsockoptInt(extsock.SOL_DDP, o.opt, bad); !errors.Is(err, syscall.EINVAL) {
						t.Errorf("set to %d: %v, want EINVAL", bad, err)
					}
				}
				get(ci, o.def)
				if err := ci.SetsockoptInt(extsock.SOL_DDP, o.opt, o.set); err != nil {
					t.Fatal(err)
				}
				get(ci, o.set)
				get(cr, o.def)
				if err := switchBoth(timeLimit(t), ci, cr); err != nil {
					t.Fatal(err)
				}
				get(ci, o.inDDP)
				if err := ci.SetsockoptInt(extsock.SOL_DDP, o.opt, o.def); !errors.Is(err, extsock.ErrMode) {
					t.Errorf("set in DDP mode: %v, want ErrMode", err)
				}
				ci.Close()
				if err := ci.SetsockoptInt(extsock.SOL_DDP, o.opt, o.def); !errors.Is(err, net.ErrClosed) {
					t.Errorf("set after Close: %v, want net.ErrClosed", err)
				}
			})
		})
	}
}

// TestOptionsReachThePeer: what an option asks for is what startup negotiates.
func TestOptionsReachThePeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
		defer ci.Close()
		defer cr.Close()
		for c, opts := range map[*extsock.Conn]map[int]int{
			ci: {extsock.DDP_CRC: 0, extsock.DDP_ORD: 9, extsock.DDP_IRD: 3, extsock.DDP_RECV_SIZE: 10},
			cr: {extsock.DDP_CRC: 0, extsock.DDP_MARKERS: 1, extsock.DDP_ORD: 12, extsock.DDP_IRD: 4},
		} {
			for opt, v := range opts {
				if err := c.SetsockoptInt(extsock.SOL_DDP, opt, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := switchBoth(timeLimit(t), ci, cr); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			c         *extsock.Conn
			name      string
			opt, want int
		}{
			{ci, "DDP_CRC", extsock.DDP_CRC, 0}, {cr, "DDP_CRC", extsock.DDP_CRC, 0},
			{ci, "DDP_MARKERS", extsock.DDP_MARKERS, 0}, {cr, "DDP_MARKERS", extsock.DDP_MARKERS, 1},
			{ci, "DDP_ORD", extsock.DDP_ORD, 4}, {cr, "DDP_ORD", extsock.DDP_ORD, 3},
			{cr, "DDPMODE", extsock.DDPMODE, 1},
		} {
			if v, err := tt.c.GetsockoptInt(extsock.SOL_DDP, tt.opt); v != tt.want || err != nil {
				t.Errorf("%s is %d, %v, want %d", tt.name, v, err, tt.want)
			}
		}
	})
}

// TestOptionsThatAreNone gives the errors of unknown levels, options and values.
func TestOptionsThatAreNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, nil)
		defer c.Close()
		defer b.Close()
		for _, tt := range []struct{ level, opt int }{{extsock.SOL_DDP, 0}, {extsock.SOL_DDP, 9999}, {1, extsock.DDPMODE}, {6, 1}} {
			if err := c.SetsockoptInt(tt.level, tt.opt, 1); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("set level %d option %d: %v", tt.level, tt.opt, err)
			}
			if _, err := c.GetsockoptInt(tt.level, tt.opt); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("get level %d option %d: %v", tt.level, tt.opt, err)
			}
		}
		if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 2); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("DDPMODE 2: %v, want EINVAL", err)
		}
		if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 0); err != nil {
			t.Errorf("DDPMODE 0 in TCP mode: %v", err)
		}
		inDDP, _ := simPair(t, simtoe.Config{}, side{}, side{})
		if err := inDDP.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 0); !errors.Is(err, extsock.ErrMode) {
			t.Errorf("DDPMODE 0 in DDP mode: %v, want ErrMode", err)
		}
	})
}

// TestOptionsDuringTheSwitch are refused, and the receive queue's size as soon as there is one.
func TestOptionsDuringTheSwitch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, false, nil)
		register(t, c, make([]byte, 8), ddp.RemoteRead)
		if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDP_RECV_DEPTH, 2); !errors.Is(err, extsock.ErrBusy) {
			t.Errorf("DDP_RECV_DEPTH after Register: %v, want ErrBusy", err)
		}
		if err := c.SetsockoptInt(extsock.SOL_DDP, extsock.DDP_RECV_SIZE, 2); err != nil {
			t.Errorf("DDP_RECV_SIZE after Register: %v", err)
		}
		done := make(chan error)
		go func() { done <- c.EnableDDP(t.Context(), nil) }()
		synctest.Wait()
		for _, o := range options {
			if err := c.SetsockoptInt(extsock.SOL_DDP, o.opt, o.set); !errors.Is(err, extsock.ErrBusy) {
				t.Errorf("%s during the switch: %v, want ErrBusy", o.name, err)
			}
		}
		c.Close()
		<-done
		b.Close()
	})
}

// TestSwitchTwice: the second switch says what is wrong, and the connection works on.
func TestSwitchTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		for _, c := range []*extsock.Conn{ci, cr} {
			if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrMode) {
				t.Errorf("the second EnableDDP = %v, want ErrMode", err)
			}
		}
		if _, err := ci.Write([]byte("on")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 2)
		if _, err := io.ReadFull(cr, p); string(p) != "on" || err != nil {
			t.Errorf("%q, %v", p, err)
		}
	})
}

// TestSwitchWithUnreadOctets: octets of the application's that came before the switch are not taken
// for frames. The Initiator notices before it has sent anything, so all is as before; the Responder
// says what it found. "Enabling the DDP/MPA stack SHOULD be done only when no incoming stream data
// is expected." (RFC 5044 §7.1.5)
// MPA-5044-7.1.5-1
func TestSwitchWithUnreadOctets(t *testing.T) {
	for desc, streams := range map[string]func() (a, b net.Conn){
		"simulator": func() (a, b net.Conn) { return simtoe.Pair(simtoe.Config{}, simtoe.Config{}) },
		"kernel":    func() (a, b net.Conn) { return kernelStreams(t) },
	} {
		t.Run(desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := streams()
				c := extsock.NewConn(a, true, nil)
				unread := strings.Repeat("octets of the application's. ", 100)
				if _, err := b.Write([]byte("hello" + unread)); err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 5)
				if _, err := io.ReadFull(c, p); string(p) != "hello" || err != nil {
					t.Fatalf("%q, %v", p, err)
				}
				for range 2 {
					err := c.EnableDDP(t.Context(), nil)
					if !errors.Is(err, extsock.ErrBusy) || !strings.Contains(err.Error(), "octets of the ap") {
						t.Errorf("EnableDDP = %v, want ErrBusy and what is unread", err)
					}
				}
				got := make([]byte, len(unread))
				if _, err := io.ReadFull(c, got); string(got) != unread || err != nil {
					t.Errorf("after that came %q, %v", got, err)
				}
				if _, err := c.Write([]byte("bye")); err != nil {
					t.Error(err)
				}
				c.Close()
				if got, err := io.ReadAll(b); !bytes.Equal(got, []byte("bye")) || err != nil {
					t.Errorf("the peer got %q, %v", got, err)
				}
				b.Close()

				a, b = streams()
				defer b.Close()
				c = extsock.NewConn(a, false, nil)
				b.Write([]byte("DATA of the application"))
				if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrNotMPA) || !strings.Contains(err.Error(), `"DATA`) {
					t.Errorf("the Responder's EnableDDP = %v, want ErrNotMPA and what it found", err)
				}
			})
		})
	}
}

// TestPeerDoesNotSwitch: the context and HandshakeTimeout end the wait, whichever comes first.
func TestPeerDoesNotSwitch(t *testing.T) {
	for _, initiator := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			for _, tt := range []struct{ timeout, ctx, want time.Duration }{
				{time.Second, time.Minute, time.Second},
				{time.Minute, time.Second, time.Second},
			} {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				c := extsock.NewConn(a, initiator, &extsock.Config{HandshakeTimeout: tt.timeout})
				ctx, cancel := context.WithTimeout(t.Context(), tt.ctx)
				begin := time.Now()
				err := c.EnableDDP(ctx, nil)
				var ne net.Error
				if !errors.As(err, &ne) || !ne.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("EnableDDP = %v, want a timeout", err)
				}
				if d := time.Since(begin); d != tt.want {
					t.Errorf("it took %v, want %v", d, tt.want)
				}
				cancel()
				c.Close()
				b.Close()
			}
		})
	}
}
