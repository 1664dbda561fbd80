//go:build interop

package interop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestGuestBoots(t *testing.T) {
	g := Start(t)
	out := g.MustRun(t, "ibv_devinfo").Stdout
	for _, want := range []string{"siw0", "iWARP", "PORT_ACTIVE"} {
		if !strings.Contains(out, want) {
			t.Errorf("ibv_devinfo says no %q:\n%s", want, out)
		}
	}
}

func TestGuestRun(t *testing.T) {
	g := Start(t)
	ctx := t.Context()
	for _, tt := range []struct {
		desc string
		args []string
		want Result
	}{
		{"output", []string{"echo", "a  b"}, Result{0, "a  b\n", ""}},
		{"both outputs and a status", []string{"sh", "-c", "echo o; echo e >&2; exit 7"}, Result{7, "o\n", "e\n"}},
		{"ended by a signal", []string{"sh", "-c", "kill -9 $$"}, Result{137, "", ""}},
		{"large output", []string{"sh", "-c", "dd if=/dev/zero bs=3000000 count=1 2>/dev/null | wc -c"}, Result{0, "3000000\n", ""}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			if got, err := g.Run(ctx, tt.args...); err != nil || got != tt.want {
				t.Errorf("Run(%q) = %+v, %v, want %+v", tt.args, got, err, tt.want)
			}
		})
	}
	t.Run("no such program", func(t *testing.T) {
		if got, err := g.Run(ctx, "no-such-program"); err == nil {
			t.Errorf("Run(no-such-program) = %+v, want an error", got)
		}
	})
	t.Run("context ends", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := g.Run(ctx, "sleep", "600"); err == nil || time.Since(began) > 10*time.Second {
			t.Errorf("Run(sleep 600) under a short context ended after %v with %v", time.Since(began), err)
		}
		awaitGone(t, g, "sleep 600")
	})
	t.Run("children end with their process", func(t *testing.T) {
		g.MustRun(t, "sh", "-c", "sleep 601 & exit 0")
		awaitGone(t, g, "sleep 601")
	})
}

// awaitGone waits until no process of the guest has this command line. Run returns when its context
// ends. Only after that does the agent notice and kill the process.
func awaitGone(t *testing.T, g *Guest, command string) {
	t.Helper()
	for deadline := time.Now().Add(commandLimit); ; {
		// "sleep" is a link to busybox, so its name is in the command line.
		_, from, found := strings.Cut(g.MustRun(t, "ps").Stdout, command)
		if !found {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the process outlives its end by %v: %s%s", commandLimit, command, from)
		}
	}
}

func TestGuestFiles(t *testing.T) {
	g := Start(t)
	want := Pattern(1, 3<<20) // more than one frame
	g.Put(t, "/tmp/file", want, 0o755)
	if got := g.Get(t, "/tmp/file"); !bytes.Equal(got, want) {
		t.Errorf("got %d octets back, other than the %d that were put", len(got), len(want))
	}
	if got := g.MustRun(t, "stat", "-c", "%a", "/tmp/file").Stdout; got != "755\n" {
		t.Errorf("mode is %q, want 755", got)
	}
}

// Plain TCP between the host's 127.0.0.1 and the guest, both ways.
func TestGuestNetwork(t *testing.T) {
	g := Start(t)
	want := Pattern(2, 1<<20)
	t.Run("host to guest", func(t *testing.T) {
		p, err := g.StartProcess(t.Context(), "nc", "-l", "-p", "7100")
		if err != nil {
			t.Fatal(err)
		}
		g.AwaitListener(t, 7100)
		c, err := net.Dial("tcp", g.Forward(t, 7100))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(want); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(p.Stdout, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("other octets arrived, %v", err)
		}
		_ = c.Close()
		p.Kill()
	})
	t.Run("guest to host", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		p, err := g.StartProcess(t.Context(), "nc", HostIP, port)
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(want); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("other octets arrived, %v", err)
		}
		_ = c.Close()
		p.Kill()
	})
}

// requestFacts contains octets 16 and 17 of an MPA Request, and the flags in the first and third
// octet of its enhanced header.
type requestFacts struct{ flags, revision, ird, ord byte }

// siw's parameters appear in the MPA Request that it sends as Initiator.
func TestSiwParameters(t *testing.T) {
	g := Start(t)
	for i, tt := range []struct {
		desc   string
		params []string
		want   requestFacts
	}{
		{"as it comes", nil, requestFacts{flags: 0x10, revision: 2}},
		{"CRC", []string{"mpa_crc_required=1"}, requestFacts{flags: 0x50, revision: 2}},
		{"revision 1", []string{"mpa_version=1"}, requestFacts{flags: 0x00, revision: 1}},
		{"revision 1 with CRC", []string{"mpa_version=1", "mpa_crc_required=1"}, requestFacts{flags: 0x40, revision: 1}},
		{"peer-to-peer", []string{"peer_to_peer=1"}, requestFacts{0x10, 2, 0x80, 0xc0}},
		{"peer-to-peer, Write only", []string{"peer_to_peer=1", "rtr_kinds=0x8000"}, requestFacts{0x10, 2, 0x80, 0x80}},
		{"peer-to-peer, Read only", []string{"peer_to_peer=1", "rtr_kinds=0x4000"}, requestFacts{0x10, 2, 0x80, 0x40}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g.SetSiw(t, tt.params...)
			if got := request(t, g); got != tt.want {
				t.Errorf("siw's MPA Request has %+v, want %+v", got, tt.want)
			}
		})
		if i != 1 {
			continue // once is enough to see that reloading works
		}
		t.Run(tt.desc+" after reloading", func(t *testing.T) {
			g.ReloadSiw(t, tt.params...)
			if got := request(t, g); got != tt.want {
				t.Errorf("siw's MPA Request has %+v, want %+v", got, tt.want)
			}
		})
	}
}

// request makes siw connect to the host and returns the facts of its MPA Request.
func request(t *testing.T, g *Guest) requestFacts {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	p := g.Peer(t)
	p.Do("resolve addr=%s port=%d", HostIP, port)
	p.Send("connect ird=3 ord=5")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 20, 24)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	if b[19] == 4 {
		b = b[:24]
		if _, err := io.ReadFull(c, b[20:]); err != nil {
			t.Fatal(err)
		}
		if b[21] != 3 || b[23] != 5 {
			t.Errorf("IRD is %d and ORD %d in siw's MPA Request, want 3 and 5", b[21], b[23])
		}
	}
	_ = c.Close()
	if r := p.Reply(); r.OK {
		t.Errorf("siw is connected to a peer that closed: %s", r)
	}
	p.Do("close")
	p.Kill()
	f := requestFacts{flags: b[16], revision: b[17]}
	if len(b) == 24 {
		f.ird, f.ord = b[20]&0xc0, b[22]&0xc0
	}
	return f
}

// A guest ends with the test run that booted it, even if that is killed.
func TestGuestEndsWithItsTestRun(t *testing.T) {
	if os.Getenv("RDDP_ORPHAN") != "" {
		g := Boot(t, Config{})
		fmt.Printf("pid %d in %s\n", g.qemu.cmd.Process.Pid, g.qemu.dir)
		select {} // until this process is killed
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestGuestEndsWithItsTestRun$")
	cmd.Env = append(os.Environ(), "RDDP_ORPHAN=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	_, scanErr := fmt.Fscanf(out, "pid %d in %s\n", &pid, &dir)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if scanErr != nil {
		t.Fatalf("the child booted no guest: %v", scanErr)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for deadline := time.Now().Add(10 * time.Second); ; {
		cmdline, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "cmdline"))
		if err != nil || len(cmdline) == 0 { // gone, or a zombie
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("QEMU (pid %d) outlives the test run", pid)
		}
	}
}
