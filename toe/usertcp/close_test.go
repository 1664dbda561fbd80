package usertcp_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
	"github.com/rddp/rddp/toe/usertcp"
)

// A lateFIN is a Link on which the first FIN comes behind the next packet.
type lateFIN struct {
	usertcp.Link

	mu   sync.Mutex
	fin  []byte
	done bool
}

func (l *lateFIN) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done && l.fin == nil && header.TCP(header.IPv4(p).Payload()).Flags().Contains(header.TCPFlagFin) {
		l.fin = bytes.Clone(p)
		return len(p), nil
	}
	n, err := l.Link.Write(p)
	if l.fin != nil {
		l.Link.Write(l.fin)
		l.fin, l.done = nil, true
	}
	return n, err
}

// TestFlushAfterCrossedFINs: both ends close at the same time, and the ACK of the one end's FIN
// overtakes the FIN of the other. Everything is acknowledged then, so Flush returns.
func TestFlushAfterCrossedFINs(t *testing.T) {
	x, y := usertcp.Pipe(1500)
	a := newStack(t, x, usertcp.Config{Addresses: addrsA, KeepAlive: -1})
	b := newStack(t, &lateFIN{Link: y}, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	if err := r.CloseWrite(); err != nil { // the link holds this FIN
		t.Fatal(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(10 * time.Second); err != nil {
		t.Errorf("Flush = %v", err)
	}
}

// TestNoProbesInTimeWait: a connection in TIME-WAIT sends no keep-alive probes, because a peer that
// has closed too would answer with a RST.
func TestNoProbesInTimeWait(t *testing.T) {
	x, y := usertcp.Pipe(1500)
	var watched, sent atomic.Int64 // the port of the connection; what it has sent
	a := newStack(t, &gate{x, func(p []byte) bool {
		if int64(header.TCP(header.IPv4(p).Payload()).SourcePort()) == watched.Load() {
			sent.Add(1)
		}
		return false
	}}, usertcp.Config{Addresses: addrsA, KeepAlive: time.Millisecond})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	for _, c := range []toe.Stream{s, r} { // s is the one that waits
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	r.Close()
	watched.Store(int64(s.LocalAddr().(*net.TCPAddr).Port))
	other, another := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer other.Close()
	defer another.Close()
	other.(*usertcp.Stream).SetKeepAlive(false)                        // a busy machine would not answer nine probes in nine milliseconds
	if err := toetest.Transfer(other, another, 8<<20, 1); err != nil { // takes many times the millisecond
		t.Fatal(err)
	}
	if n := sent.Load(); n > 0 {
		t.Errorf("the connection in TIME-WAIT has sent %d segments", n)
	}
}
