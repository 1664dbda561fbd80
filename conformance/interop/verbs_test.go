//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests have the program verbspeer at each end: over siw and over rxe of the guest's kernel,
// over the device of rddp run, and in its own process. Guests do not reach each other's rxe, and no
// TCP does, so it meets itself.

const verbsLimit = 3 * time.Minute // longest session

// verbspeerBinary builds verbspeer, once, as a static program.
var verbspeerBinary = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "rddp-verbspeer-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "verbspeer")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./verbspeer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building verbspeer: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

// A place is where verbspeer runs, and by which engine.
type place string

const (
	inProcess  place = "process"
	underRun   place = "rddp run"
	overSiw    place = "siw"
	overRxe    place = "rxe"
	rxeAddress       = "10.0.9.15" // eth1 of the guest, see guest/load-rxe
)

// A party is a verbspeer that runs.
type party struct {
	place place
	wait  func() (code int, said string)
	heard func(want string) bool // waits until it has said so
}

// A stage is where sessions of verbspeer take place.
type stage struct {
	g      *Guest
	host   string // the program on the host
	prefix string // of the device's name: "socket:" for extended sockets
}

func newStage(t *testing.T) *stage {
	t.Helper()
	g := superviseGuest(t)
	b, err := verbspeerBinary()
	if err != nil {
		t.Fatal(err)
	}
	g.Put(t, "/bin/verbspeer", b, 0o755)
	s := &stage{g: g, host: filepath.Join(t.TempDir(), "verbspeer")}
	if err := os.WriteFile(s.host, b, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(s.host); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { // another user runs it
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start starts verbspeer with the arguments that follow the device's name.
func (s *stage) start(t *testing.T, ctx context.Context, p place, args string) *party {
	t.Helper()
	switch p {
	case underRun:
		c := supervise(t, s.host+" "+s.prefix+"any "+args)
		return &party{p, func() (int, string) { code := c.wait(ctx); return code, c.said() }, c.says}
	case inProcess:
		return s.startHost(t, ctx, args)
	}
	c := startGuest(t, ctx, s.g, "/bin/verbspeer "+s.prefix+string(p)+"0 "+args)
	var said strings.Builder
	return &party{p, func() (int, string) {
		code, err := c.Wait()
		if err != nil {
			fmt.Fprintln(&said, err)
		}
		said.WriteString(text(c))
		return code, said.String()
	}, func(want string) bool {
		for r := bufio.NewReader(c.Stdout); ; {
			line, err := r.ReadString('\n')
			said.WriteString(line)
			if err != nil || strings.Contains(line, want) {
				return err == nil
			}
		}
	}}
}

func (s *stage) startHost(t *testing.T, ctx context.Context, args string) *party {
	t.Helper()
	c := exec.CommandContext(ctx, s.host, append([]string{s.prefix + "process"}, strings.Fields(args)...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewReader(out)
	heard := func(want string) bool {
		for {
			line, err := lines.ReadString('\n')
			said.WriteString(line)
			if err != nil || want != "" && strings.Contains(line, want) {
				return err == nil
			}
		}
	}
	return &party{inProcess, func() (int, string) {
		heard("")    // to the end
		_ = c.Wait() // its status is in c
		return c.ProcessState.ExitCode(), said.String() + stderr.String()
	}, heard}
}

// meet has two parties meet, and returns what the one that dials has said.
func (s *stage) meet(t *testing.T, listens, dials place, size, conns int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), verbsLimit)
	defer cancel()
	address, port := "127.0.0.1", fmt.Sprint(freePort(t))
	switch listens {
	case overSiw:
		address, port = GuestIP, fmt.Sprint(verbsPort)
	case overRxe:
		address, port = rxeAddress, fmt.Sprint(verbsPort)
	}
	l := s.start(t, ctx, listens, fmt.Sprintf("listen %s:%s %d %d", address, port, size, conns))
	if !l.heard("listening on") {
		_, said := l.wait()
		t.Fatalf("%s does not listen:\n%s", listens, said)
	}
	to := net.JoinHostPort(address, port)
	switch {
	case listens == overSiw && dials != overSiw:
		to = s.g.Forward(t, verbsPort)
	case listens != overSiw && dials == overSiw:
		to = net.JoinHostPort(HostIP, port)
	}
	d := s.start(t, ctx, dials, fmt.Sprintf("dial %s %d %d", to, size, conns))
	code, said := d.wait()
	lCode, lSaid := l.wait()
	for _, p := range []struct {
		place place
		code  int
		said  string
	}{{dials, code, said}, {listens, lCode, lSaid}} {
		if p.code != 0 || !strings.Contains(p.said, "equal SHA-256 both ways") {
			t.Errorf("%s: exit status %d\n%s", p.place, p.code, p.said)
		}
	}
	return said
}

const verbsPort = 7610

// Every place meets every other one, as the end that listens and as the one that dials: by work
// requests, and as extended sockets.
func TestVerbsPairs(t *testing.T)  { meetPairs(t, "") }
func TestSocketPairs(t *testing.T) { meetPairs(t, "socket:") }

func meetPairs(t *testing.T, prefix string) {
	s := newStage(t)
	s.prefix = prefix
	s.g.MustRun(t, "load-rxe")
	iwarp := []place{inProcess, underRun, overSiw}
	for _, listens := range iwarp {
		for _, dials := range iwarp {
			t.Run(fmt.Sprintf("%s listens, %s dials", listens, dials), func(t *testing.T) {
				t.Log(s.meet(t, listens, dials, 10_000_000, 1))
			})
		}
	}
	t.Run("rxe", func(t *testing.T) { t.Log(s.meet(t, overRxe, overRxe, 10_000_000, 1)) })
}

// A thousand connections of one device are there at the same time, and each is used.
func TestVerbsConnections(t *testing.T)  { meetThousand(t, "") }
func TestSocketConnections(t *testing.T) { meetThousand(t, "socket:") }

func meetThousand(t *testing.T, prefix string) {
	s := newStage(t)
	s.prefix = prefix
	s.g.MustRun(t, "load-rxe")
	for _, tt := range [][2]place{{underRun, inProcess}, {inProcess, underRun}, {underRun, underRun}, {overSiw, overSiw}, {overRxe, overRxe}} {
		t.Run(fmt.Sprintf("%s listens, %s dials", tt[0], tt[1]), func(t *testing.T) {
			t.Log(s.meet(t, tt[0], tt[1], 10_000, 1000))
		})
	}
}
