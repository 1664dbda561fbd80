//go:build interop

package interop

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rsockpeer"
	"github.com/rddp/rddp/rdmap"
)

// killedLimit is how long an end may take to learn that the other end was killed.
const killedLimit = time.Second

// preloadInGuest puts the program of package rsockpeer and librdmacm's preload library into the
// guest. It returns a function that starts the program for a load.
func preloadInGuest(t *testing.T, ctx context.Context, g *Guest) func(load rsockpeer.Load, host string, port int) *Process {
	t.Helper()
	const program, preload = "/tmp/rsockpeer", "/tmp/librspreload.so"
	for to, from := range map[string]string{program: rsockpeer.Build(t), preload: rsockpeer.Preload(t)} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		g.Put(t, to, b, 0o755)
	}
	return func(load rsockpeer.Load, host string, port int) *Process {
		return startGuest(t, ctx, g, "env LD_PRELOAD="+preload+" "+program+" "+strings.Join(load.Args(host, port), " "))
	}
}

// TestRSocketsKilledSiw: when a C program over siw is killed while both ends send, Read and Write
// of the other end fail within a second with an error other than io.EOF, whichever end has
// connected.
func TestRSocketsKilledSiw(t *testing.T) {
	for _, role := range []string{"connect", "listen"} {
		t.Run("the one that "+role+"s", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
			defer cancel()
			g := superviseGuest(t)
			start := preloadInGuest(t, ctx, g)
			load := rsockpeer.Endless(role)
			conns := loadConns(acceptLoad)
			if role == "listen" {
				conns = dialLoad(g)
			}
			cfg := &extsock.Config{RSockets: true, Startup: extsock.StartupRequire}
			p, all := conns(t, ctx, 0, cfg, 1, func(host string, port int) *Process { return start(load, host, port) })
			c := all[0].(*extsock.Conn)
			defer c.Close()
			var failed time.Time
			transferred := make(chan error, 1)
			go func() {
				err := load.Transfer(c)
				failed = time.Now()
				transferred <- err
			}()
			for c.Stats().Received.FPDUs < 100 || c.Stats().Sent.FPDUs < 100 { // both directions flow
				select {
				case err := <-transferred:
					t.Fatalf("before the signal: %v\n%s", err, text(p))
				case <-time.After(time.Millisecond):
				}
			}
			p.Kill() // returns when the process has ended
			ended := time.Now()
			err := <-transferred
			terminated := (*rdmap.TerminateError)(nil) // siw may have sent part of a message
			rsockpeer.CheckLost(t, err, errors.As(err, &terminated) && terminated.Remote)
			if took := failed.Sub(ended); took > killedLimit {
				t.Errorf("the error came %v after the end of the program", took)
			} else {
				t.Logf("the error came %v after the end of the program: %v", took, err)
			}
		})
	}
}

// TestRSocketsKilledBeforeSiw: when the Go program is killed, a C program over siw that has
// accepted its connection gets an error or an early end within a second. (One that has connected
// may wait forever with librdmacm 44: docs/rsockets.md.)
func TestRSocketsKilledBeforeSiw(t *testing.T) {
	const variable = "RDDP_RSOCKETS_PEER"
	if address := os.Getenv(variable); address != "" {
		t.Fatal(rsockpeer.ReadUntilKilled(address))
	}
	ctx, cancel := context.WithTimeout(t.Context(), supervisedLimit)
	defer cancel()
	g := superviseGuest(t)
	p := preloadInGuest(t, ctx, g)(rsockpeer.Endless("listen"), GuestIP, supervisedPort)
	g.AwaitListener(t, supervisedPort)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestRSocketsKilledBeforeSiw$")
	cmd.Env = append(os.Environ(), variable+"="+g.Forward(t, supervisedPort))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "middle\n" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("%q, %v\n%s", line, err, text(p))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	killed := time.Now()
	code, err := p.Wait()
	took := time.Since(killed)
	if said := text(p); code == 0 || err != nil || !strings.Contains(said, "rsockpeer: ") || took > killedLimit {
		t.Errorf("exit status %d, %v, %v after the end of its peer\n%s", code, err, took, said)
	} else {
		t.Logf("the program ended %v after its peer: %s", took, strings.TrimSpace(said))
	}
}
