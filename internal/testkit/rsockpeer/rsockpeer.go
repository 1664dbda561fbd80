// Package rsockpeer has a C program of plain sockets, for librdmacm's preload library, and the
// other end of its connections. Several connections transfer data in both directions at once, in
// writes of 1 byte to 1 MiB. testdata/rsockpeer.c lists the defects of librdmacm that the two ends
// avoid.
package rsockpeer

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rddp/rddp/extsock"
)

//go:embed testdata/rsockpeer.c
var source string

// Build compiles the program and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rsockpeer")
	c := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", name, "-x", "c", "-")
	c.Stdin = strings.NewReader(source)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// Preload returns the path of librdmacm's preload library.
func Preload(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/rsocket/librspreload.so")
	if err != nil || len(found) == 0 {
		t.Fatalf("no librspreload.so: %v", err)
	}
	return found[0]
}

// A Load describes the data that the program and Transfer exchange. First and Ends are "client" or
// "server": the end that sends the first byte of a connection, and the end that half-closes first.
type Load struct {
	Role        string // of the program: "listen" or "connect"
	Conns       int    // a listening program has at most three
	Bytes       int64  // each way of each connection
	First, Ends string
}

// Args returns the arguments of the program, which connects to the address or listens there.
func (l Load) Args(host string, port int) []string {
	return []string{l.Role, host, strconv.Itoa(port), strconv.Itoa(l.Conns), strconv.FormatInt(l.Bytes, 10), l.First, l.Ends}
}

// Endless returns a Load that is long enough for an end to be killed in the middle of it.
func Endless(role string) Load {
	return Load{Role: role, Conns: 1, Bytes: 1 << 40, First: "client", Ends: "client"}
}

// CheckLost checks the error of a connection whose program was killed. It must not be io.EOF, and
// must be an error of TCP unless aborted is true: then the caller has found another correct error.
func CheckLost(t testing.TB, err error, aborted bool) {
	t.Helper()
	lost := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if !lost && !aborted || errors.Is(err, io.EOF) {
		t.Errorf("Read and Write: %v", err)
	}
	if op := (*net.OpError)(nil); !errors.As(err, &op) {
		t.Errorf("%T is no *net.OpError", err)
	}
}

// ReadUntilKilled is the Go program that a test kills. It connects to a listening program with an
// endless Load, reads, and prints "middle" after 1 MiB.
func ReadUntilKilled(address string) error {
	c, err := extsock.Dial("tcp", address, &extsock.Config{RSockets: true, Startup: extsock.StartupRequire})
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte{patternAt(0)}); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
		return err
	}
	fmt.Println("middle")
	_, err = io.Copy(io.Discard, c)
	return err
}

// Transfer runs the other end of a connection of the program.
func (l Load) Transfer(c *extsock.Conn) error {
	own := "client"
	if l.Role == "connect" {
		own = "server"
	}
	x := &transfer{Conn: c, bytes: l.Bytes, heard: make(chan struct{}), ended: make(chan struct{})}
	var sent, received error
	var ends sync.WaitGroup
	ends.Go(func() { sent = x.send(l.First == own, l.Ends == own) })
	ends.Go(func() {
		defer close(x.ended)
		received = x.check()
	})
	ends.Wait()
	if err := errors.Join(sent, received); err != nil {
		return fmt.Errorf("%d bytes sent, %d received of %d: %w; %+v", x.sent.Load(), x.received.Load(), l.Bytes, err, c.Stats())
	}
	return nil
}

// A transfer is a connection with the program.
type transfer struct {
	*extsock.Conn
	bytes          int64
	heard, ended   chan struct{} // closed at the peer's first byte, and at its end
	sent, received atomic.Int64
}

func patternAt(at int64) byte { return byte(at ^ at>>8 ^ at>>16) }

// send sends this end's data. An end that does not begin waits for the peer's first byte. An end
// that does not lead sends its second half only after the peer's half-close.
func (x *transfer) send(begins, leads bool) error {
	if !begins {
		<-x.heard
	}
	if !leads {
		if err := x.sendUntil(x.bytes / 2); err != nil {
			return err
		}
		<-x.ended
	}
	if err := x.sendUntil(x.bytes); err != nil {
		return err
	}
	return x.CloseWrite()
}

func (x *transfer) sendUntil(end int64) error {
	sizes, p := []int64{1 << 20, 3, 65536, 1, 100, 4096}, make([]byte, 1<<20)
	for turn := 0; x.sent.Load() < end; turn++ {
		at := x.sent.Load()
		b := p[:min(sizes[turn%len(sizes)], end-at)]
		for i := range b {
			b[i] = patternAt(at + int64(i))
		}
		if _, err := x.Write(b); err != nil {
			return err
		}
		x.sent.Add(int64(len(b)))
	}
	return nil
}

// check reads and checks the peer's data, and closes heard at the first byte.
func (x *transfer) check() error {
	var once sync.Once
	defer once.Do(func() { close(x.heard) })
	for p := make([]byte, 1<<16); ; {
		n, err := x.Read(p)
		at := x.received.Load()
		for i := range p[:n] {
			if p[i] != patternAt(at+int64(i)) {
				return fmt.Errorf("byte %d is wrong", at+int64(i))
			}
		}
		if at = x.received.Add(int64(n)); n > 0 {
			once.Do(func() { close(x.heard) })
		}
		switch {
		case err == io.EOF && at == x.bytes:
			return nil
		case err != nil:
			return err
		}
	}
}
