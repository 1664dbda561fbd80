//go:build interop

package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// In these tests rstream of librdmacm over siw talks to this stack by rsockets: another
// implementation of the byte stream, over another implementation of iWARP.

const (
	rsocketsSize = 4096
	// rsocketsCount transfers in one direction are more than both receive buffers hold.
	rsocketsCount = 150
)

// rsocketsConfigs are settings of MPA.
var rsocketsConfigs = []struct {
	desc string
	cfg  extsock.Config
}{
	{"as it is", extsock.Config{}},
	{"no CRC", extsock.Config{NoCRC: true}},
	{"small buffers", extsock.Config{RecvSize: 1000}},
}

// TestRSocketsToSiw: rstream connects over siw, and this end returns the bytes, transfer by
// transfer.
func TestRSocketsToSiw(t *testing.T) {
	for _, tt := range rsocketsConfigs {
		t.Run(tt.desc, func(t *testing.T) {
			cfg := tt.cfg
			cfg.RSockets, cfg.Startup = true, extsock.StartupRequire
			ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
			defer cancel()
			g := superviseGuest(t)
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			stop := context.AfterFunc(ctx, func() { l.Close() })
			defer stop()
			served := make(chan error, 1)
			go func() { served <- serveRStream(ctx, l) }()
			p := startGuest(t, ctx, g, fmt.Sprintf("rstream -s %s -p %d -S %d -C %d -T v", HostIP, l.Addr().(*net.TCPAddr).Port, rsocketsSize, rsocketsCount))
			if code, err := p.Wait(); code != 0 || err != nil {
				t.Errorf("exit status %d, %v\n%s", code, err, text(p))
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// serveRStream is rstream's server for one connection. It answers the transfers with the same
// bytes.
func serveRStream(ctx context.Context, l *extsock.Listener) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	for _, n := range []int{16, rsocketsSize * rsocketsCount} {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
	n, err := io.Copy(io.Discard, c)
	if n != 0 {
		err = fmt.Errorf("%d bytes behind the last transfer", n)
	}
	return err
}

// TestRSocketsFromSiw: a Go program connects to rstream over siw, several times for each setting,
// because siw may leave the first bytes unread. rstream closes after its last transfer. Sometimes
// siw then sends a FIN in the middle of rstream's bytes, which this end must notice.
func TestRSocketsFromSiw(t *testing.T) {
	for _, tt := range rsocketsConfigs {
		for i := range 4 {
			t.Run(fmt.Sprintf("%s %d", tt.desc, i), func(t *testing.T) {
				cfg := tt.cfg
				cfg.RSockets, cfg.Startup = true, extsock.StartupRequire
				ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
				defer cancel()
				g := superviseGuest(t)
				p := startGuest(t, ctx, g, fmt.Sprintf("rstream -b %s -p %d -S %d -C %d -T v", GuestIP, supervisedPort, rsocketsSize, rsocketsCount))
				g.AwaitListener(t, supervisedPort)
				c, err := extsock.Dial("tcp", g.Forward(t, supervisedPort), &cfg)
				if err != nil {
					t.Fatal(err)
				}
				missing, err := driveRStream(ctx, c)
				var read *net.OpError // a plain end of stream is not one
				if missing > 0 && missing < rsocketsSize*rsocketsCount && errors.As(err, &read) && errors.Is(err, io.ErrUnexpectedEOF) {
					t.Logf("siw has closed %d bytes before the end: %v", missing, err)
					p.Kill()
					return
				}
				if err != nil {
					t.Errorf("%d bytes missing: %v", missing, err)
					p.Kill()
				}
				if code, err := p.Wait(); code != 0 || err != nil {
					t.Errorf("exit status %d, %v\n%s", code, err, text(p))
				}
			})
		}
	}
}

// driveRStream is rstream's client for one connection: it checks that the server returns the
// transfers. missing is the number of bytes of the last transfers that have not arrived.
func driveRStream(ctx context.Context, c *extsock.Conn) (missing int, err error) {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	const last = rsocketsSize * rsocketsCount
	next := byte(0)
	for _, n := range []int{16, last} {
		out, in := make([]byte, n), make([]byte, n)
		k := min(n, rsocketsSize)
		for i := range out {
			out[i] = next + byte(i%k)
		}
		next += byte(k)
		if _, err := c.Write(out); err != nil {
			return last, err
		}
		got, err := io.ReadFull(c, in)
		if !bytes.Equal(in[:min(k, got)], out[:min(k, got)]) {
			return n - got, errors.New("the server sends other bytes")
		}
		if err != nil {
			return last - got*(n/last), err
		}
	}
	if err := c.CloseWrite(); err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, c)
	if n != 0 {
		err = fmt.Errorf("%d bytes behind the last transfer", n)
	}
	return 0, err
}
