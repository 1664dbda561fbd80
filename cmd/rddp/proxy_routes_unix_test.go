//go:build unix

package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// On SIGHUP, a proxy reads its routes again. On SIGTERM, it reports that it is not ready, waits for
// its connection to end, and ends with status 0.
func TestProxyRoutes(t *testing.T) {
	service := tcptest.Serve(t, tcptest.Echo)
	file := filepath.Join(t.TempDir(), "routes")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rddp://127.0.0.1:0 " + service + "\n")
	exit := startProcess(t, "proxy", "-routes", file, "-health", "127.0.0.1:0", "-drain", "1h")
	exit.line(t, ` msg=health address=127\.0\.0\.1:\d+$`)
	far := exit.line(t, ` msg=listening part=exit .* address=rddp://127\.0\.0\.1:\d+$`)
	entrance := startProcess(t, "proxy", "-l", "127.0.0.1:0", "-to", far, "-grace", "1h")
	c := tcptest.Dial(t, entrance.line(t, ` msg=listening `))
	say := func(text string) {
		t.Helper()
		b := make([]byte, len(text))
		io.WriteString(c, text)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
			t.Errorf("%q comes back as %q, %v", text, b, err)
		}
	}
	say("before")
	write("rddp://127.0.0.1:0 " + service + "\nrddp://127.0.0.1:0\n")
	exit.cmd.Process.Signal(syscall.SIGHUP)
	exit.line(t, ` level=WARN msg="the routes of before remain in use: .*line 2: a route has 2 addresses`)
	write("rddp://0.0.0.0:0 " + service + "\n")
	exit.cmd.Process.Signal(syscall.SIGHUP)
	exit.line(t, ` level=WARN msg="the routes of before remain in use: .*: other hosts could connect without TLS`)
	write("rddp://localhost:0 " + service + "\n")
	exit.cmd.Process.Signal(syscall.SIGHUP)
	exit.line(t, ` msg="not listening any more" address=`+far+` open=1$`)
	exit.line(t, ` msg=listening part=exit `)
	exit.line(t, ` msg="the routes are those of the file" `)
	say("after")
	exit.cmd.Process.Signal(syscall.SIGTERM)
	exit.line(t, ` msg=interrupted open=1 grace=1h0m0s$`)
	say("while it drains")
	c.CloseWrite()
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
	if err := exit.end(t); err != nil {
		t.Errorf("the exit: %v", err)
	}
}

// TestEarlyReload: a SIGHUP before the proxy has read its routes does not end it, and makes it read
// them again.
func TestEarlyReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	// If SIGHUP is ignored, as under nohup, a child process inherits that. It does not inherit a
	// handler.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	p := startProcess(t, "proxy", "-routes", file)
	give := func(before func()) {
		t.Helper()
		f := openFIFO(t, file)
		before()
		io.WriteString(f, "rddp://127.0.0.1:0 127.0.0.1:1\n")
		f.Close()
	}
	give(func() { p.cmd.Process.Signal(syscall.SIGHUP) })
	p.line(t, " msg=listening part=exit ")
	give(func() {})
	p.line(t, ` msg="the routes are those of the file" `)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.end(t); err != nil {
		t.Errorf("the exit: %v", err)
	}
}

// openFIFO opens the FIFO for writing as soon as the proxy reads from it. It fails the test if that
// never happens, for example because the proxy has ended.
func openFIFO(t *testing.T, file string) (f *os.File) {
	t.Helper()
	prototest.Wait(t, "the proxy opens the file", func() bool {
		var err error
		f, err = os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	return f
}

// TestInterruptedReload: an interrupt ends a proxy that waits forever for its file of routes, at
// its start and after a SIGHUP.
func TestInterruptedReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, "proxy", "-routes", file)
	f := openFIFO(t, file)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.end(t); p.cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("at its start: %v", err)
	}
	f.Close()
	p = startProcess(t, "proxy", "-routes", file)
	f = openFIFO(t, file)
	io.WriteString(f, "rddp://127.0.0.1:0 127.0.0.1:1\n")
	f.Close()
	p.line(t, " msg=listening part=exit ")
	p.cmd.Process.Signal(syscall.SIGHUP)
	f = openFIFO(t, file)
	defer f.Close()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.end(t); err != nil {
		t.Errorf("after a SIGHUP: %v", err)
	}
}

// A proxy is ready until it begins to end, and alive until it has ended.
func TestProxyHealth(t *testing.T) {
	exit := startProcess(t, "proxy", "-listen", "rddp://127.0.0.1:0", "-to", tcptest.Serve(t, tcptest.Echo))
	far := exit.line(t, " msg=listening ")
	entrance := startProcess(t, "proxy", "-l", "127.0.0.1:0", "-to", far, "-grace", "1h", "-health", "127.0.0.1:0")
	_, health, _ := strings.Cut(entrance.text(t, ` msg=health address=127\.0\.0\.1:\d+$`), " address=")
	c := tcptest.Dial(t, entrance.line(t, " msg=listening "))
	io.WriteString(c, "x")
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: prototest.Patience(t)}
	ask := func(path string) int {
		t.Helper()
		r, err := client.Get("http://" + health + path)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer r.Body.Close()
		io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	check := func(when string, ready int) {
		t.Helper()
		if l, r, none := ask("/live"), ask("/ready"), ask("/"); l != http.StatusOK || r != ready || none != http.StatusNotFound {
			t.Errorf("%s: /live %d, /ready %d, want %d; / %d", when, l, r, ready, none)
		}
	}
	check("at work", http.StatusOK)
	entrance.cmd.Process.Signal(syscall.SIGTERM)
	prototest.Wait(t, "the proxy is not ready", func() bool { return ask("/ready") == http.StatusServiceUnavailable })
	check("while it drains", http.StatusServiceUnavailable)
	c.CloseWrite()
	if err := entrance.end(t); err != nil {
		t.Errorf("the entrance: %v", err)
	}
}

// TestHealthWithoutDescriptors: a proxy without free descriptors is alive but not ready. It is
// ready again when it has some.
func TestHealthWithoutDescriptors(t *testing.T) {
	exit := newProcess(t, "proxy", "-listen", "rddp://127.0.0.1:0", "-to", "127.0.0.1:1", "-timeout", "1h", "-health", "127.0.0.1:0")
	exit.cmd.Args = slices.Concat([]string{"/bin/sh", "-c", `ulimit -n 48 && exec "$@"`, "sh"}, exit.cmd.Args)
	exit.cmd.Path = "/bin/sh"
	exit.start(t)
	_, health, _ := strings.Cut(exit.text(t, ` msg=health address=127\.0\.0\.1:\d+$`), " address=")
	address := strings.TrimPrefix(exit.line(t, " msg=listening "), "rddp://")
	var silent []*net.TCPConn
	for range 64 { // connections that are not accepted wait in the listener
		silent = append(silent, tcptest.Dial(t, address))
	}
	exit.text(t, "level=WARN msg=accept .*too many open files")
	ask := func(client *http.Client, path string) int {
		r, err := client.Get("http://" + health + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return 0
		}
		defer r.Body.Close()
		io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	for range 3 { // clients that keep their connections
		client := &http.Client{Timeout: prototest.Patience(t), Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		if live := ask(client, "/live"); live != http.StatusOK {
			t.Errorf("/live %d", live)
		}
		prototest.Wait(t, "the proxy is not ready", func() bool { return ask(client, "/ready") == http.StatusServiceUnavailable })
	}
	for _, c := range silent {
		c.Close()
	}
	client := &http.Client{Timeout: prototest.Patience(t)}
	prototest.Wait(t, "the proxy is ready again", func() bool { return ask(client, "/ready") == http.StatusOK })
}
