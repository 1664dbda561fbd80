package proxy

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A brokenConn is a connection whose Write has got the error of a reset, but has not returned yet.
type brokenConn struct {
	net.Conn
	writing, back chan struct{}
}

func (c *brokenConn) Write([]byte) (int, error) {
	close(c.writing)
	<-c.back
	return 0, syscall.ECONNRESET
}

func (c *brokenConn) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		close(c.back)
	}
	return nil
}

// An end of the stream that Read returns is not orderly if a Write is about to fail.
func TestOrderlyAsksTheWrite(t *testing.T) {
	c := &brokenConn{writing: make(chan struct{}), back: make(chan struct{})}
	e := &plainEnd{Conn: c}
	done := make(chan error)
	go func() {
		_, err := e.Write([]byte("x"))
		done <- err
	}()
	<-c.writing
	if e.orderly() {
		t.Error("orderly, though the Write was told of a reset")
	}
	if err := <-done; !isReset(err) {
		t.Errorf("Write: %v", err)
	}
}

// A resetConn is a connection whose CloseWrite returns the error of a reset.
type resetConn struct{ net.Conn }

func (resetConn) CloseWrite() error                { return syscall.ECONNRESET }
func (resetConn) SetWriteDeadline(time.Time) error { return nil }

// An end of the stream that Read returns is not orderly if CloseWrite got the error of a reset.
func TestOrderlyAsksTheHalfClose(t *testing.T) {
	e := &plainEnd{Conn: resetConn{}}
	if !e.orderly() {
		t.Error("not orderly before anything has failed")
	}
	if err := e.CloseWrite(); !isReset(err) {
		t.Errorf("CloseWrite: %v", err)
	}
	if e.orderly() {
		t.Error("orderly, though the half-close was told of a reset")
	}
}

// After orderly has interrupted a waiting Write, the Write continues, and no byte is lost or
// duplicated.
func TestOrderlyLeavesTheWrite(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	e := &plainEnd{Conn: a}
	want := random(3, 1000)
	type result struct {
		n   int
		err error
	}
	done := make(chan result)
	go func() {
		n, err := e.Write(want)
		a.Close()
		done <- result{n, err}
	}()
	b.SetDeadline(prototest.Deadline(t))
	var got []byte
	for range 10 {
		p := make([]byte, 50)
		if _, err := io.ReadFull(b, p); err != nil {
			t.Fatal(err)
		}
		got = append(got, p...)
		if !e.orderly() {
			t.Error("not orderly, though the Write only waits")
		}
	}
	rest, err := io.ReadAll(b)
	if got = append(got, rest...); err != nil || string(got) != string(want) {
		t.Errorf("%d bytes of %d came, %v", len(got), len(want), err)
	}
	if r := <-done; r.n != len(want) || r.err != nil {
		t.Errorf("Write = %d, %v", r.n, r.err)
	}
}
