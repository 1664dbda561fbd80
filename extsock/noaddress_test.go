package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/capture"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// noAddress is a net.Conn that does not know its addresses: "LocalAddr returns the local network
// address, if known."
type noAddress struct{ net.Conn }

func (noAddress) LocalAddr() net.Addr  { return nil }
func (noAddress) RemoteAddr() net.Addr { return nil }

// TestNoAddress: a connection without addresses works like any other: short and long Writes,
// operations, the trace, captures, and the text of errors.
func TestNoAddress(t *testing.T) {
	log := newEventLog()
	var captured, tapped bytes.Buffer
	started, err := capture.NewWriter(&captured)
	if err != nil {
		t.Fatal(err)
	}
	tap, err := capture.NewWriter(&tapped)
	if err != nil {
		t.Fatal(err)
	}
	a, b := kernelStreams(t)
	plain := side{cfg: extsock.Config{Trace: slog.New(log)}}
	seen := side{cfg: extsock.Config{Tap: tap.Tap}}
	ci, cr := switched(t, noAddress{a}, noAddress{b}, plain, seen)
	if ci.LocalAddr() != nil || ci.RemoteAddr() != nil {
		t.Errorf("the addresses are %v and %v", ci.LocalAddr(), ci.RemoteAddr())
	}
	if _, err := started.Start(ci); err != nil {
		t.Fatal(err)
	}
	lengths := []int{100, 10_000, 300_000, 1 << 20}
	read := make(chan error, 1)
	go func() {
		for _, n := range lengths {
			if _, err := io.ReadFull(cr, make([]byte, n)); err != nil {
				read <- err
				return
			}
		}
		read <- nil
	}()
	for i, n := range lengths {
		if m, err := ci.Write(pattern(n, byte(i))); m != n || err != nil {
			t.Fatalf("Write of %d octets = %d, %v", n, m, err)
		}
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	extsock.StopCapture(ci)
	for _, c := range []*capture.Writer{started, tap} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if captured.Len() < 1<<20 || tapped.Len() < 1<<20 {
		t.Errorf("the captures have %d and %d octets", captured.Len(), tapped.Len())
	}
	// A use of memory that was never registered: the peer ends the connection, and says so.
	if _, err := ci.Remote(rdmap.Handle{STag: 1, Len: 8}).ReadAt(make([]byte, 8), 0); err == nil || !strings.Contains(err.Error(), "rddp") {
		t.Errorf("ReadAt of nowhere: %v", err)
	}
	if _, err := cr.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the other end reads %v, want why it has ended the connection", err)
	}
	ci.Close()
	cr.Close()
	prototest.Wait(t, "the trace has the Terminate", func() bool { return log.has("Terminate") })
	if !log.has("DDP mode") {
		t.Errorf("the trace has no DDP mode: %q", log.events.all)
	}
}
