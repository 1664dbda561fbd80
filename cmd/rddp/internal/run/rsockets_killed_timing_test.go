//go:build verbs && linux && (amd64 || arm64)

package run

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rsockpeer"
)

// TestRSocketsKilledProgram: when the C program is killed while both ends send, Read and Write
// fail, and not with io.EOF.
func TestRSocketsKilledProgram(t *testing.T) {
	l, port := listenRSockets(t, rsocketsConfig)
	endless := rsockpeer.Endless("connect")
	cmd := preloaded(t, rsockpeer.Build(t), endless, port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := startRSockets(t, cmd, l.Close)
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	c := accepted.(*extsock.Conn)
	var failed time.Time
	transferred := make(chan error, 1)
	go func() {
		err := endless.Transfer(c)
		failed = time.Now()
		transferred <- err
	}()
	prototest.Wait(t, "data in both directions", func() bool { return c.Stats().Received.FPDUs > 100 && c.Stats().Sent.FPDUs > 100 })
	began := time.Now()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err = <-transferred
	rsockpeer.CheckLost(t, err, false)
	t.Logf("the errors came %v after the signal: %v", failed.Sub(began), err)
	if err := <-p.ended; err == nil {
		t.Error("a killed program has ended well")
	}
}

func init() {
	programs["read"] = func(args []string) error { return rsockpeer.ReadUntilKilled("127.0.0.1:" + args[0]) }
}

// TestRSocketsKilledGo: when the Go program is killed, a C program that has accepted its connection
// gets an error or an early end. A C program that has connected may wait forever: librdmacm 44
// detects the end of accepted connections only.
func TestRSocketsKilledGo(t *testing.T) {
	port := freePort(t)
	p := startRSockets(t, preloaded(t, rsockpeer.Build(t), rsockpeer.Endless("listen"), port), nil)
	if err := awaitListener(port, p.ended); err != nil {
		t.Fatal(err)
	}
	line := performance(t, "read", strconv.Itoa(port))
	cmd := exec.Command(line[0], line[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // killed
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "middle\n" || err != nil {
		t.Fatalf("%q, %v\n%s", line, err, &text)
	}
	began := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	err = <-p.ended
	if !strings.Contains(p.out.String(), "rsockpeer: ") || err == nil {
		t.Errorf("%v\n%s", err, &p.out)
	}
	t.Logf("the program has ended %v after the signal: %s", time.Since(began), strings.TrimSpace(p.out.String()))
}
