//go:build interop

package interop

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

const (
	rpingPort  = 7400
	iterations = 100
	// rpingMost is the longest data that rping takes. At -S 65536 it says "valid range is 23 to
	// 65536" and ends.
	rpingMost = 65535

	rpingLimit = 2 * time.Minute // longest run of either program
)

// A pingSetting is a way of starting a connection.
type pingSetting struct {
	desc   string
	siw    []string // parameters
	client []string // arguments of rddp ping
	server []string // arguments of rddp ping --listen
	crc    bool     // expected in the result
}

// pingSettings are the settings with which both directions of ping are tested. The last one is only
// for the server of rddp ping.
var pingSettings = []pingSetting{
	{desc: "CRC off", client: []string{"--no-crc"}, server: []string{"--no-crc"}},
	// The server does not want CRC, but siw requires it. As the Responder siw follows the client.
	{desc: "CRC required", crc: true, siw: []string{"mpa_crc_required=1"}, server: []string{"--no-crc"}},
	{desc: "peer-to-peer", siw: []string{"peer_to_peer=1"},
		client: []string{"--no-crc", "--p2p"}, server: []string{"--no-crc"}},
	{desc: "peer-to-peer, CRC required", crc: true, siw: []string{"peer_to_peer=1", "mpa_crc_required=1"},
		client: []string{"--p2p"}, server: []string{"--no-crc"}},
	// Neither end requires anything that the other does not offer.
	{desc: "CRC wanted by rddp only", crc: true},
	{desc: "peer-to-peer with RTR Read, CRC", crc: true, siw: []string{"peer_to_peer=1", "rtr_kinds=0x4000"},
		client: []string{"--p2p", "--rtr", "read"}, server: []string{"--rtr", "read"}},
	{desc: "revision 1", siw: []string{"mpa_version=1"}, server: []string{"--no-crc"}},
}

// eachPing runs f over all settings, the first four in all sizes and the others in one.
func eachPing(t *testing.T, settings []pingSetting, f func(t *testing.T, g *Guest, s pingSetting, size int)) {
	type ping struct {
		pingSetting
		size int
	}
	var pings []ping
	for i, s := range settings {
		sizes := []int{64, 1000, rpingMost}
		if i >= 4 {
			sizes = sizes[1:2]
		}
		for _, size := range sizes {
			pings = append(pings, ping{s, size})
		}
	}
	for _, p := range testmode.Share(t, pings) {
		t.Run(fmt.Sprintf("%s/%d", p.desc, p.size), func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, p.siw...)
			if p.crc {
				g.SetSiw(t, "fix_split_trailer=1") // siw's fault "split trailer"
			}
			f(t, g, p.pingSetting, p.size)
		})
	}
}

// rddp ping against rping -s. siw is the Responder. Revision 1 is not tested: rping's server takes
// its depths from siw's report of the Request, which then has 0 (siw's fault "Revision 1 and
// depths"), so it can't read. It fails with rping's client in the same way.
func TestRddpPingToRping(t *testing.T) {
	rddp := rddpBinary(t)
	eachPing(t, pingSettings[:len(pingSettings)-1], func(t *testing.T, g *Guest, s pingSetting, size int) {
		ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
		defer cancel()
		server, err := g.StartProcess(ctx, "rping", "-s", "-a", GuestIP, "-p", strconv.Itoa(rpingPort),
			"-C", strconv.Itoa(iterations), "-S", strconv.Itoa(size), "-v")
		if err != nil {
			t.Fatal(err)
		}
		g.AwaitListener(t, rpingPort)
		args := append([]string{"ping", "-f", "-v", "-V", "--print-data", g.Forward(t, rpingPort),
			"-c", strconv.Itoa(iterations), "-s", strconv.Itoa(size)}, s.client...)
		client := startRddp(t, rddp, args...)
		if code := client.wait(ctx); code != 0 {
			t.Errorf("rddp's exit status is %d:\n%s", code, client.said())
		}
		out := client.stdout.String()
		if got := strings.Count(out, "ping data: rdma-ping-"); got != iterations {
			t.Errorf("rddp shows the data of %d pings, want %d", got, iterations)
		}
		if want := fmt.Sprintf("%d pings of %d bytes", iterations, size); !strings.Contains(out, want) {
			t.Errorf("rddp does not say %q:\n%.400s", want, out)
		}
		client.wantStartup(t, s.crc)
		// rping's server ends by itself when the client is gone.
		code, err := server.Wait()
		if err != nil || code != 0 {
			t.Errorf("rping's exit status is %d, %v", code, err)
		}
		b := make([]byte, 1<<24)
		n, _ := server.Stdout.Read(b)
		if got := strings.Count(string(b[:n]), "server ping data: rdma-ping-"); got != iterations {
			t.Errorf("rping shows the data of %d pings, want %d", got, iterations)
		}
	})
}

// rping -c against rddp ping --listen. siw is the Initiator.
func TestRpingToRddpPing(t *testing.T) {
	rddp := rddpBinary(t)
	eachPing(t, pingSettings, func(t *testing.T, g *Guest, s pingSetting, size int) {
		ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
		defer cancel()
		port := freePort(t)
		args := append([]string{"ping", "--listen", "127.0.0.1:" + port, "-v", "--print-data"}, s.server...)
		server := startRddp(t, rddp, args...)
		awaitHostListener(t, ctx, port)
		r, err := g.Run(ctx, "rping", "-c", "-a", HostIP, "-p", port, "-V", "-v",
			"-C", strconv.Itoa(iterations), "-S", strconv.Itoa(size))
		if err != nil || r.Code != 0 {
			t.Errorf("rping's exit status is %d, %v:\n%s", r.Code, err, r.Stderr)
		}
		if got := strings.Count(r.Stdout, "ping data: rdma-ping-"); got != iterations {
			t.Errorf("rping shows the data of %d pings, want %d", got, iterations)
		}
		// Without -P rddp's server ends with the connection.
		if code := server.wait(ctx); code != 0 {
			t.Errorf("rddp's exit status is %d:\n%s", code, server.said())
		}
		if got := strings.Count(server.stdout.String(), "server ping data: rdma-ping-"); got != iterations {
			t.Errorf("rddp shows the data of %d pings, want %d", got, iterations)
		}
		server.wantStartup(t, s.crc)
	})
}

var built struct {
	sync.Once
	dir, path string
	err       error
}

// rddpBinary builds cmd/rddp, once per test run, and returns its path.
func rddpBinary(t testing.TB) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "rddp-interop-bin-"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "rddp")
		out, err := exec.Command("go", "build", "-o", built.path, "github.com/rddp/rddp/cmd/rddp").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("building cmd/rddp: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// A command is an rddp under way on the host.
type command struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when it has ended
}

// startRddp starts rddp and kills it when t ends.
func startRddp(t *testing.T, path string, args ...string) *command {
	t.Helper()
	c := &command{cmd: exec.Command(path, args...), done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.done
	})
	return c
}

// wait waits for its end and returns the exit status, or -1 if it had to be killed.
func (c *command) wait(ctx context.Context) int {
	select {
	case <-c.done:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	return c.cmd.ProcessState.ExitCode()
}

// said returns its output without the lines about single pings. The command must have ended.
func (c *command) said() string {
	var b strings.Builder
	for line := range strings.Lines(c.stderr.String() + c.stdout.String()) {
		if !strings.Contains(line, "level=DEBUG") && !strings.Contains(line, "ping data: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// wantStartup checks rddp's report of the result of MPA startup.
func (c *command) wantStartup(t *testing.T, crc bool) {
	t.Helper()
	if want := fmt.Sprintf("crc=%t tx_markers=false rx_markers=false", crc); strings.Count(c.stderr.String(), want) != 1 {
		t.Errorf("rddp does not say %q once:\n%s", want, c.said())
	}
}

// freePort returns a port of the host on which nothing listens.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// awaitHostListener waits until something on the host listens on port. It does not connect, because
// rddp's server accepts only one connection.
func awaitHostListener(t *testing.T, ctx context.Context, port string) {
	t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte(fmt.Sprintf(":%04X 00000000:0000 0A ", n))
	for ctx.Err() == nil {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(table, want) {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("nothing listens on port %s", port)
}
