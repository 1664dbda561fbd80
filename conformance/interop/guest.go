//go:build interop

package interop

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// GuestIP is the guest's address. siw listens on it, and connections inside the guest use it
	// too.
	GuestIP = "10.0.2.15"
	// HostIP is the host's 127.0.0.1 as the guest sees it.
	HostIP = "10.0.2.2"

	bootLimit    = 4 * time.Minute  // maximum wait for a guest to boot; 6 s are usual without KVM
	commandLimit = 30 * time.Second // maximum wait for a short command in the guest
)

// A Guest is one running Linux with siw0, an iWARP device on its network interface eth0. Several
// goroutines may call its methods at a time, except those that change siw's parameters.
type Guest struct {
	qemu     *qemu
	agent    string   // the address on the host where the guest's agent answers
	hello    net.Conn // the guest ends when this is closed
	ethernet *Ethernet
	bootTime time.Duration

	mu       sync.Mutex
	forwards map[int]string // guest port: address on the host
}

// Config configures a guest for [Boot]. Start uses the zero value.
type Config struct {
	Siw []string // siw's module parameters, "name=value"; README.md lists them
	// Ethernet connects eth0 to Guest.Ethernet instead of QEMU's NAT. Then nothing of the host can
	// be reached at HostIP, and Forward fails.
	Ethernet bool
}

// shared is the guest of this test run.
var shared struct {
	sync.Mutex
	guest *Guest
}

// Main runs the tests and ends the guest that they share: func TestMain(m *testing.M) {
// os.Exit(Main(m)) }.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.guest != nil {
		if err := shared.guest.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		shared.guest = nil
	}
	return code
}

// Start returns the guest of this test run. The first call builds and boots it, and so does the
// first call after its kernel has crashed. When t fails, Start logs the guest's kernel log of that
// time.
func Start(t testing.TB) *Guest {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if g := shared.guest; g != nil {
		err := g.mark(t)
		if err == nil {
			g.logOnFailure(t)
			return g
		}
		t.Logf("booting another guest: %v", err)
		_ = g.end()
		shared.guest = nil
	}
	g, err := boot(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the guest came up in %v", g.bootTime.Round(time.Millisecond))
	shared.guest = g
	if err := g.mark(t); err != nil {
		t.Fatal(err)
	}
	g.logOnFailure(t)
	return g
}

// Boot boots a guest for t alone and ends it when t ends.
func Boot(t testing.TB, c Config) *Guest {
	t.Helper()
	g, err := boot(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a guest of its own came up in %v", g.bootTime.Round(time.Millisecond))
	t.Cleanup(func() {
		// The test itself judges what happens to its own guest, including a kernel crash.
		_ = g.end()
	})
	if err := g.mark(t); err != nil {
		t.Fatal(err)
	}
	g.logOnFailure(t)
	return g
}

func boot(c Config) (*Guest, error) {
	if err := build(); err != nil {
		return nil, err
	}
	began := time.Now()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	g := &Guest{forwards: make(map[int]string)}
	env := []string{"RDDP_HELLO=" + strconv.Itoa(port), "RDDP_SIW=" + strings.Join(c.Siw, " ")}
	var files []*os.File
	if c.Ethernet {
		var far *os.File
		if g.ethernet, far, err = newEthernet(); err != nil {
			return nil, err
		}
		defer far.Close()
		env, files = append(env, "RDDP_ETH0=dgram,local.type=fd,local.str=3"), []*os.File{far}
	}
	q, err := startQEMU(files, env...)
	if err != nil {
		g.ethernet.Close()
		return nil, err
	}
	g.qemu = q
	if g.hello, err = q.awaitHello(l.(*net.TCPListener), began.Add(bootLimit)); err != nil {
		_ = q.end()
		g.ethernet.Close()
		return nil, fmt.Errorf("the guest did not come up: %w", err)
	}
	if g.agent, err = q.forward("net1", agentForward); err != nil {
		_ = g.end()
		return nil, err
	}
	g.bootTime = time.Since(began)
	return g, nil
}

// end closes the guest. Its error says whether the guest had crashed before.
func (g *Guest) end() error {
	err := g.qemu.crash()
	_ = g.hello.Close()
	g.ethernet.Close()
	if e := g.qemu.end(); err == nil {
		err = e
	}
	return err
}

// Ethernet returns the wire at the guest's eth0 if Config.Ethernet was set, and otherwise nil.
func (g *Guest) Ethernet() *Ethernet { return g.ethernet }

// Ended returns a channel that is closed when the guest has ended, for example by a crash of its
// kernel.
func (g *Guest) Ended() <-chan struct{} { return g.qemu.done }

// Crash returns how the guest's kernel crashed, from its console. It returns nil while the guest
// runs.
func (g *Guest) Crash() error { return g.qemu.crash() }

// Forward returns an address on the host's 127.0.0.1 from which TCP connections reach the guest's
// port. QEMU accepts a connection before the guest does. If no process in the guest listens, QEMU
// then closes the connection.
func (g *Guest) Forward(t testing.TB, port int) string {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if addr, ok := g.forwards[port]; ok {
		return addr
	}
	to := fmt.Sprintf("%s:%d", GuestIP, port)
	answer, err := g.qemu.monitor("hostfwd_add net0 tcp:127.0.0.1:0-" + to)
	if err == nil && strings.TrimSpace(answer) != "" {
		err = fmt.Errorf("hostfwd_add: %s", answer)
	}
	var addr string
	if err == nil {
		addr, err = g.qemu.forward("net0", to)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.forwards[port] = addr
	return addr
}

// mark marks the beginning of t in the guest's kernel log, for Log.
func (g *Guest) mark(t testing.TB) error {
	_, err := g.run(commandLimit, "sh", "-c", `echo "$0" >/dev/kmsg`, "rddp: begin "+t.Name())
	return err
}

// maxLog is the number of lines of the kernel log that a failed test shows.
const maxLog = 100

// logOnFailure logs the end of the guest's kernel log of the time of t, if t fails.
func (g *Guest) logOnFailure(t testing.TB) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		if err := g.Crash(); err != nil {
			t.Log(err)
			return
		}
		log := g.Log(t)
		t.Logf("the end of the guest's kernel log:\n%s", strings.Join(log[max(0, len(log)-maxLog):], "\n"))
	})
}

// Log returns the guest's kernel log since Start or Boot was called for t. siw reports there how it
// handles connections, and each Terminate that it prepares ("init TERM"), sends ("sent TERM") and
// receives ("got TERMINATE").
func (g *Guest) Log(t testing.TB) []string {
	t.Helper()
	out, err := g.run(commandLimit, "dmesg")
	if err != nil {
		t.Errorf("reading the guest's kernel log: %v", err)
		return nil
	}
	lines := strings.Split(strings.TrimSpace(out.Stdout), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasSuffix(lines[i], "rddp: begin "+t.Name()) {
			return lines[i+1:]
		}
	}
	return lines
}

// AwaitListener waits until a process in the guest listens on port, or siw does after rdma_listen.
func (g *Guest) AwaitListener(t testing.TB, port int) {
	t.Helper()
	if err := g.awaitListener(port); err != nil {
		t.Fatal(err)
	}
}

func (g *Guest) awaitListener(port int) error {
	script := fmt.Sprintf(`n=0
		until grep -qi ':%04X [0-9A-F]*:0000 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
			[ $n -lt 200 ] || exit 1; n=$((n+1)); sleep 0.05
		done`, port)
	r, err := g.run(commandLimit, "sh", "-c", script)
	if err != nil || r.Code != 0 {
		return fmt.Errorf("nothing listens on the guest's port %d: exit status %d, %v", port, r.Code, err)
	}
	return nil
}

// SetSiw changes siw's parameters ("name=value") for later connections, and resets them when t
// ends.
func (g *Guest) SetSiw(t testing.TB, params ...string) {
	t.Helper()
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		old, err := g.setSiw(name, value)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if g.qemu.ended() {
				return
			}
			if _, err := g.setSiw(name, old); err != nil {
				t.Error(err)
			}
		})
	}
}

// setSiw sets one parameter and returns its old value.
func (g *Guest) setSiw(name, value string) (old string, err error) {
	r, err := g.run(commandLimit, "sh", "-c",
		`f=/sys/module/siw/parameters/$0; cat $f && echo "$1" >$f`, name, value)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("siw's parameter %s=%s: %s", name, value, strings.TrimSpace(r.Stderr))
	}
	return strings.TrimSpace(r.Stdout), err
}

// ReloadSiw unloads siw and loads it again with exactly these parameters, as if the driver had
// restarted. No peer may be connected. When t ends, siw is loaded without parameters.
func (g *Guest) ReloadSiw(t testing.TB, params ...string) {
	t.Helper()
	reload := func(params ...string) error {
		r, err := g.run(commandLimit, append([]string{"load-siw"}, params...)...)
		if err == nil && r.Code != 0 {
			err = fmt.Errorf("reloading siw: %s%s", r.Stdout, r.Stderr)
		}
		return err
	}
	if err := reload(params...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if g.qemu.ended() {
			return
		}
		if err := reload(); err != nil {
			t.Error(err)
		}
	})
}

// run runs a command in the guest for the harness itself.
func (g *Guest) run(limit time.Duration, args ...string) (Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return g.Run(ctx, args...)
}
