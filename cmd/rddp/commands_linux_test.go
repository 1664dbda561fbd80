//go:build commands

package main

import (
	"bufio"
	"crypto/tls"
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

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// The tests in this file need zsh, fish, tmux, iproute2, and the privilege to make namespaces.

// TestTranscriptsInNamespaces runs the transcripts about full disks.
func TestTranscriptsInNamespaces(t *testing.T) {
	runTranscript(t, "testdata/namespaces/full.txt")
}

// A tmux is a tmux terminal in which a shell runs.
type tmux struct {
	socket string
	env    []string
}

// newTmux starts a program in a terminal in which the command rddp is this test binary.
func newTmux(t *testing.T, program string) *tmux {
	t.Helper()
	s := newShell(t)
	x := &tmux{socket: filepath.Join(t.TempDir(), "tmux"), env: s.env}
	words := []string{"-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "-c", s.dir, "env", "-i", "TERM=screen", "HISTFILE=/dev/null", commandEnv + "=1"}
	x.does(t, append(append(words, s.env...), strings.Fields(program)...)...)
	t.Cleanup(func() { _ = x.command("kill-server").Run() }) // it may have ended
	return x
}

func (x *tmux) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
}

func (x *tmux) does(t *testing.T, args ...string) string {
	t.Helper()
	out, err := x.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// types sends keys, named as in tmux.
func (x *tmux) types(t *testing.T, keys ...string) {
	t.Helper()
	x.does(t, append([]string{"send-keys"}, keys...)...)
}

// sees waits until the screen contains text.
func (x *tmux) sees(t *testing.T, text string) {
	t.Helper()
	screen := ""
	defer func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", screen)
		}
	}()
	prototest.Wait(t, "the screen has "+text, func() bool {
		screen = x.does(t, "capture-pane", "-p")
		return strings.Contains(screen, text)
	})
}

// TestCompletionInShells: each shell's script completes the names of commands, flags and files.
func TestCompletionInShells(t *testing.T) {
	for _, tt := range []struct{ shell, setup string }{
		{"bash --norc", "source <(rddp completion bash)"},
		{"zsh -f", "autoload -U compinit; compinit -D; source <(rddp completion zsh)"},
		{"fish --no-config --private", "rddp completion fish | source"},
	} {
		t.Run(tt.shell, func(t *testing.T) {
			x := newTmux(t, tt.shell)
			x.types(t, tt.setup+"; echo set-'up'", "Enter")
			x.sees(t, "set-up")
			x.types(t, "rddp ser", "Tab")
			x.sees(t, "rddp serve")
			x.types(t, "C-u", "rddp ping --inter", "Tab")
			x.sees(t, "rddp ping --interval")
			x.types(t, "C-u", "rddp serve --max", "Tab")
			x.sees(t, "rddp serve --max-conns")
			x.types(t, "C-u", "touch trace.pcap", "Enter", "rddp dump tra", "Tab")
			x.sees(t, "rddp dump trace.pcap")
		})
	}
}

// TestTerminal: a copy shows its progress at a terminal, and ^C ends a running command with the
// status of an interrupt.
func TestTerminal(t *testing.T) {
	x := newTmux(t, "bash --norc")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startProcess(t, "serve", "--listen", "127.0.0.1:0", dir)
	x.types(t, "rddp cp rddp://"+server.line(t, "msg=listening")+"/f . ; echo status $?", "Enter")
	x.sees(t, "/f 100% |")
	x.sees(t, "status 0")
	ping := startProcess(t, "ping", "-P", "--listen", "127.0.0.1:0")
	x.types(t, "clear; rddp ping -c 9 -i 1h "+ping.line(t, "msg=listening")+"; echo status $?", "Enter")
	x.sees(t, ": ping 0, ")
	x.types(t, "C-c")
	x.sees(t, "1 ping of 64 bytes, RTT min/avg/max ")
	x.sees(t, "rddp ping: interrupted after 1 of 9 pings")
	x.sees(t, "status 130")
}

// scanEnv makes this test binary scan the ports of a host.
const scanEnv = "RDDP_TEST_SCAN"

func init() {
	if host := os.Getenv(scanEnv); host != "" {
		scan(host)
		os.Exit(0)
	}
}

// scan prints all open ports of a host, and whether they speak TLS.
func scan(host string) {
	var group sync.WaitGroup
	next := make(chan int)
	for range 64 {
		group.Go(func() {
			for port := range next {
				address := net.JoinHostPort(host, strconv.Itoa(port))
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue
				}
				t := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it asks for TLS, not for whom
				c.SetDeadline(time.Now().Add(time.Minute))
				fmt.Printf("open %s TLS %t\n", address, t.Handshake() == nil)
				c.Close()
			}
		})
	}
	for port := 1; port < 1<<16; port++ {
		next <- port
	}
	close(next)
	group.Wait()
	fmt.Println("scanned")
}

// namespaces makes two connected network namespaces, starts the commands in the first, and scans it
// from the second.
const namespaces = `
set -e
ip link set lo up
unshare -n sleep 1000 & far=$!
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add near type veth peer name far netns $far
ip addr add 192.0.2.1/24 dev near; ip link set near up
nsenter -t $far -n sh -c 'ip addr add 192.0.2.2/24 dev far; ip link set far up'
while read line; do
	$line 2>&1 &
done
read go <go
RDDP_TEST_IS_THE_COMMAND= RDDP_TEST_SCAN=192.0.2.1 nsenter -t $far -n "$SCANNER"
kill $(jobs -p)
`

// TestScan: from another host, no port of a server is open unless it speaks TLS or --insecure
// allows it.
func TestScan(t *testing.T) {
	dir := t.TempDir()
	local := []string{
		"rddp serve " + dir, "rddp ping -P --listen 127.0.0.1:0", "rddp perf --listen 127.0.0.1:0", "rddp spec --peer --listen 127.0.0.1:0",
		"rddp proxy --listen rddp://127.0.0.1:0 --to 127.0.0.1:1 --health 127.0.0.1:0", "rddp proxy --listen 127.0.0.1:0 --to rddp://127.0.0.1:1",
	}
	secret := []string{
		"rddp serve --tls-self --listen :0 " + dir, "rddp ping -P --tls-self --listen 192.0.2.1:0", "rddp perf --tls-self --listen :0",
		"rddp spec --peer --tls-self --listen :0", "rddp proxy --tls-self --listen rddp://:0 --to 127.0.0.1:1 --health :0",
	}
	open := []string{"rddp ping -P --insecure --listen :0"}
	s := newShell(t)
	cmd := s.command(t, "unshare", "-rn", "sh", "-c", namespaces)
	cmd.Stdin = strings.NewReader(strings.Join(append(append(local, secret...), open...), "\n") + "\n")
	cmd.Env = append(cmd.Env, "SCANNER="+os.Args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := syscall.Mkfifo(filepath.Join(s.dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	})
	const health = 2 // listeners of --health
	listening, counts := len(local)+len(secret)+len(open)+health, map[string]int{}
	text := ""
	for lines := bufio.NewScanner(out); !strings.Contains(text, "scanned\n") && lines.Scan(); {
		text += lines.Text() + "\n"
		switch {
		case strings.Contains(lines.Text(), "msg=listening"), strings.Contains(lines.Text(), "msg=health"):
			if listening--; listening == 0 {
				if err := os.WriteFile(filepath.Join(s.dir, "go"), []byte("go\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		case strings.HasPrefix(lines.Text(), "open "):
			_, kind, _ := strings.Cut(lines.Text(), " TLS ")
			counts[kind]++
		}
	}
	if counts["true"] != len(secret)+1 || counts["false"] != len(open) || !strings.Contains(text, "scanned\n") {
		t.Errorf("open: %v, want %d with TLS and %d without\n%s", counts, len(secret)+1, len(open), text)
	}
}
