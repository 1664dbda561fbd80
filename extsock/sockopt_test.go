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
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestOptionErrors checks the errors of unknown levels, options and values.
func TestOptionErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, nil)
		defer c.Close()
		defer b.Close()
		for _, tt := range []struct{ level, opt int }{{extsock.SOL_DDP, 0}, {extsock.SOL_DDP, 2}, {1, extsock.DDPMODE}, {6, 1}} {
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

// TestSwitchTwice: the error of a second switch says what is wrong, and the connection remains
// usable.
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

// TestSwitchWithUnreadOctets: octets of the application that came before the switch are not taken
// for frames. The Initiator notices them before it has sent anything, so the connection is
// unchanged. The error of the Responder shows what it found. "Enabling the DDP/MPA stack SHOULD be
// done only when no incoming stream data is expected." (RFC 5044 §7.1.5) MPA-5044-7.1.5-1
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
