//go:build interop

package interop

import (
	"cmp"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rsockpeer"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// rsocketsLoads are rsocketsConns connections at a time between the program of package rsockpeer,
// under librdmacm's preload library over siw, and this stack. The program half-closes first: siw
// may send its FIN in the middle of the last message of an end that closes right after it.
var rsocketsLoads = []struct {
	desc, siw string
	cfg       extsock.Config
	load      rsockpeer.Load
}{
	{"connects, speaks first, CRC", "mpa_crc_required=1", extsock.Config{}, rsockpeer.Load{Role: "connect", Conns: rsocketsConns, First: "client", Ends: "client"}},
	{"connects, is spoken to, revision 1", "mpa_version=1", extsock.Config{Revision: 1}, rsockpeer.Load{Role: "connect", Conns: rsocketsConns, First: "server", Ends: "client"}},
	{"listens, speaks first, revision 1", "mpa_version=1", extsock.Config{Revision: 1}, rsockpeer.Load{Role: "listen", Conns: 2, First: "server", Ends: "server"}},
	{"listens, is spoken to, CRC", "mpa_crc_required=1", extsock.Config{}, rsockpeer.Load{Role: "listen", Conns: 2, First: "client", Ends: "server"}},
}

// rsocketsConns is the number of connections at a time. A listening program has two of them,
// because librdmacm 44 fails with four.
const rsocketsConns = 8

// rsocketsLoadBytes returns the bytes in each direction of each connection: 2 GiB in total with
// full counts.
func rsocketsLoadBytes() int64 { return int64(testmode.Count(32<<20, 1<<20)) }

// TestRSocketsLoadSiw checks each load byte by byte at both ends.
func TestRSocketsLoadSiw(t *testing.T) {
	for _, tt := range rsocketsLoads {
		t.Run(tt.desc, func(t *testing.T) {
			g := superviseGuest(t)
			g.SetSiw(t, tt.siw)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(testmode.Count(10, 1))*supervisedLimit)
			defer cancel()
			cfg, load := tt.cfg, tt.load
			cfg.RSockets, cfg.Startup = true, extsock.StartupRequire
			load.Bytes = rsocketsLoadBytes()
			run := preloadInGuest(t, ctx, g)
			start := func(host string, port int) *Process { return run(load, host, port) }
			conns, peers := loadConns(acceptLoad), 1
			if load.Role == "listen" {
				conns, peers = dialLoad(g), rsocketsConns/load.Conns
			}
			total := 0
			var ends sync.WaitGroup
			for i := range peers {
				p, accepted := conns(t, ctx, i, &cfg, load.Conns, start)
				total += len(accepted)
				ends.Go(func() { transferLoad(t, load, &cfg, p, accepted) })
			}
			ends.Wait()
			t.Logf("%d MiB", 2*int64(total)*load.Bytes>>20)
		})
	}
}

// A loadConns starts program number i and returns its connections.
type loadConns = func(t *testing.T, ctx context.Context, i int, cfg *extsock.Config, conns int, start func(string, int) *Process) (*Process, []net.Conn)

// acceptLoad is for a program that connects.
func acceptLoad(t *testing.T, ctx context.Context, _ int, cfg *extsock.Config, conns int, start func(string, int) *Process) (p *Process, all []net.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	defer context.AfterFunc(ctx, func() { l.Close() })()
	p = start(HostIP, l.Addr().(*net.TCPAddr).Port)
	for range conns {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return p, all
}

// dialLoad is for programs that listen.
func dialLoad(g *Guest) loadConns {
	return func(t *testing.T, _ context.Context, i int, cfg *extsock.Config, conns int, start func(string, int) *Process) (p *Process, all []net.Conn) {
		t.Helper()
		port := supervisedPort + 20 + i
		p = start(GuestIP, port)
		g.AwaitListener(t, port)
		for range conns {
			c, err := extsock.Dial("tcp", g.Forward(t, port), cfg)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		return p, all
	}
}

// transferLoad is the other end of all connections of a program, and waits for the program's end.
// If the program is killed because its time is up, the connections end too.
func transferLoad(t *testing.T, load rsockpeer.Load, cfg *extsock.Config, p *Process, conns []net.Conn) {
	var ends sync.WaitGroup
	for _, c := range conns {
		defer c.Close()
		ends.Go(func() {
			c := c.(*extsock.Conn)
			if err := load.Transfer(c); err != nil {
				t.Error(err)
			}
			state := c.ConnectionState()
			if want := cmp.Or(cfg.Revision, 2); !state.CRC || state.Revision != want {
				t.Errorf("CRC %t, revision %d of MPA, want a CRC and %d", state.CRC, state.Revision, want)
			}
		})
	}
	ends.Wait()
	if code, err := p.Wait(); code != 0 || err != nil {
		t.Errorf("exit status %d, %v\n%s", code, err, text(p))
	}
}
