//go:build interop

package interop

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// This test has rstream of librdmacm over siw talk to this stack by rsockets: an implementation of the
// byte stream by others, over an iWARP by others. rstream connects, so this end sends the last bytes.

const (
	rsocketsSize = 4096
	// rsocketsCount transfers one way are more than both receive buffers hold.
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

// TestRSocketsToSiw: rstream connects over siw, and this end gives back what comes, transfer by transfer.
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

// serveRStream is rstream's server for one connection. It answers each direction's transfers with the
// bytes that they had.
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
