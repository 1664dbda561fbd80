//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// The tests that use this file's stage run a program at each end that can use a device by package
// toe/verbs: over siw and over rxe of the guest's kernel, over the device of rddp run, and in its
// own process. rxe is reachable neither from other guests nor by TCP, so it meets itself. So does
// the device of rddp run without --iwarp.

// sessionLimit is how long the longest session may take. A gigabyte in each direction within the
// emulated guest takes minutes.
var sessionLimit = time.Duration(testmode.Count(30, 3)) * time.Minute

// A place says where a program runs, and with which engine.
type place string

const (
	inProcess   place = "process"
	underRun    place = "rddp run --iwarp"
	joinedRun   place = "rddp run"
	overSiw     place = "siw"
	overRxe     place = "rxe"
	rxeAddress        = "10.0.9.15" // eth1 of the guest, see guest/load-rxe
	sessionPort       = 7610
)

// inGuest reports whether the place is in the guest.
func (p place) inGuest() bool { return p == overSiw || p == overRxe }

// iwarp are the places that use iWARP, so each of them can meet each other one.
var iwarp = []place{inProcess, underRun, overSiw}

// A party is a running program.
type party struct {
	place place
	wait  func() (code int, said string)
	heard func(want string) bool // waits until the program has printed want
	kill  func(t testing.TB)     // kills the program, not its supervisor
}

// A stage runs sessions of one program with itself.
type stage struct {
	g       *Guest
	program string // on the host
	success string // printed at the end
}

// newStage builds the program of a folder statically, and also puts it into the guest.
func newStage(t testing.TB, program, success string) *stage {
	t.Helper()
	return builtStage(t, program, success, "build", "./"+program)
}

// builtStage is newStage with the arguments of go build.
func builtStage(t testing.TB, program, success string, what ...string) *stage {
	t.Helper()
	g := superviseGuest(t)
	g.MustRun(t, "load-rxe")
	t.Cleanup(func() { g.MustRun(t, "rdma", "link", "delete", "rxe0") }) // for a test whose program must find no device
	s := &stage{g, filepath.Join(t.TempDir(), program), success}
	folder := len(what) - 1
	args := append(slices.Clone(what[:folder]), "-ldflags=-s -w", "-o", s.program, what[folder])
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", program, err, out)
	}
	b, err := os.ReadFile(s.program)
	if err != nil {
		t.Fatal(err)
	}
	g.Put(t, "/bin/"+program, b, 0o755)
	for dir := filepath.Dir(s.program); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { // another user must be able to run it
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start starts the program with the arguments that follow the device's name.
func (s *stage) start(t testing.TB, ctx context.Context, p place, args string) *party {
	t.Helper()
	switch p {
	case underRun, joinedRun:
		options := "--iwarp"
		if p == joinedRun {
			options = ""
		}
		c := superviseAs(t, options, s.program+" any "+args)
		return &party{p, func() (int, string) { code := c.wait(ctx); return code, c.said() }, c.says, func(t testing.TB) { killProgram(t, c) }}
	case inProcess:
		return s.startHost(t, ctx, args)
	}
	c := startGuest(t, ctx, s.g, "/bin/"+filepath.Base(s.program)+" "+string(p)+"0 "+args)
	var said strings.Builder
	return &party{p, func() (int, string) {
		code, err := c.Wait()
		if err != nil {
			fmt.Fprintln(&said, err)
		}
		said.WriteString(text(c))
		return code, said.String()
	}, hears(c.Stdout, &said), func(testing.TB) { c.Kill() }}
}

// hears returns the heard function of a party.
func hears(r io.Reader, said *strings.Builder) func(want string) bool {
	lines := bufio.NewReader(r)
	return func(want string) bool {
		for {
			line, err := lines.ReadString('\n')
			said.WriteString(line)
			if err != nil || want != "" && strings.Contains(line, want) {
				return err == nil
			}
		}
	}
}

func (s *stage) startHost(t testing.TB, ctx context.Context, args string) *party {
	t.Helper()
	c := exec.CommandContext(ctx, s.program, append([]string{"process"}, strings.Fields(args)...)...)
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
	heard := hears(out, &said)
	return &party{inProcess, func() (int, string) {
		heard("")    // to the end
		_ = c.Wait() // its status is in c
		return c.ProcessState.ExitCode(), said.String() + stderr.String()
	}, heard, func(testing.TB) { _ = c.Process.Kill() }}
}

// begin starts one party that listens and another one that dials. args follow the address.
func (s *stage) begin(t testing.TB, ctx context.Context, listens, dials place, args string) (l, d *party) {
	t.Helper()
	address, port := "127.0.0.1", fmt.Sprint(sessionPort)
	switch listens {
	case overSiw:
		address = GuestIP
	case overRxe:
		address = rxeAddress
	default:
		port = fmt.Sprint(freePort(t))
	}
	l = s.start(t, ctx, listens, fmt.Sprintf("listen %s:%s %s", address, port, args))
	if !l.heard("listening on") {
		_, said := l.wait()
		t.Fatalf("%s does not listen:\n%s", listens, said)
	}
	to := net.JoinHostPort(address, port)
	switch {
	case listens.inGuest() && !dials.inGuest():
		to = s.g.Forward(t, sessionPort)
	case !listens.inGuest() && dials.inGuest():
		to = net.JoinHostPort(HostIP, port)
	}
	return l, s.start(t, ctx, dials, fmt.Sprintf("dial %s %s", to, args))
}

// meet makes two parties meet, and returns the output of the dialing one.
func (s *stage) meet(t testing.TB, listens, dials place, args string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sessionLimit)
	defer cancel()
	l, d := s.begin(t, ctx, listens, dials, args)
	said := s.ends(t, d)
	s.ends(t, l)
	return said
}

// ends waits until a party has ended, with success, and returns its output.
func (s *stage) ends(t testing.TB, p *party) string {
	t.Helper()
	code, said := p.wait()
	if code != 0 || !strings.Contains(said, s.success) {
		t.Errorf("%s: exit status %d\n%s", p.place, code, said)
	}
	return said
}
