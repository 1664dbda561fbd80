package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestPlainThenDDP uses a connection as TCP first, switches it in-band, and goes on.
func TestPlainThenDDP(t *testing.T) {
	a, b := kernelStreams(t)
	ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	defer ci.Close()
	defer cr.Close()
	served := make(chan error, 1)
	go func() {
		p := make([]byte, 8)
		if _, err := io.ReadFull(cr, p); err != nil || string(p) != "STARTDDP" {
			served <- errors.Join(err, errors.New("got "+string(p)))
			return
		}
		served <- cr.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 1)
	}()
	if _, err := ci.Write([]byte("STARTDDP")); err != nil {
		t.Fatal(err)
	}
	if v, err := ci.GetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE); v != 0 || err != nil {
		t.Errorf("DDPMODE before the switch = %d, %v", v, err)
	}
	if err := ci.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 1); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if v, err := ci.GetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE); v != 1 || err != nil {
		t.Errorf("DDPMODE after the switch = %d, %v", v, err)
	}
	if _, err := ci.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	if n, err := cr.Read(p); string(p[:n]) != "hello" || err != nil {
		t.Errorf("Read = %q, %v", p[:n], err)
	}
}

// TestReadKeepsMessagesApart: a Read never returns octets of two messages, and loses none.
func TestReadKeepsMessagesApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
		for _, m := range []string{"first", "", "second"} {
			if n, err := ci.Write([]byte(m)); n != len(m) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", m, n, err)
			}
		}
		p := make([]byte, 3)
		for _, want := range []string{"fir", "st", "", "sec", "ond"} {
			if n, err := cr.Read(p); string(p[:n]) != want || err != nil {
				t.Errorf("Read = %q, %v, want %q", p[:n], err, want)
			}
		}
	})
}

// TestUnreadMessagesHoldBackTheWriter: unread messages are neither lost nor fatal, however many
// there are. DDP-5041-7.1-5, DDP-5041-7.1-11
func TestUnreadMessagesHoldBackTheWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{Window: 4096}, inMessages, side{cfg: extsock.Config{Messages: true, RecvDepth: 2, RecvSize: 1000}})
		const messages = 100
		written := make(chan error, 1)
		go func() {
			for n := range messages {
				if _, err := ci.Write(pattern(1000, byte(n))); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		time.Sleep(time.Hour)
		select {
		case err := <-written:
			t.Fatalf("the peer does not read, and all Writes are done: %v", err)
		default:
		}
		p := make([]byte, 2000)
		for n := range messages {
			m, err := cr.Read(p)
			if err != nil || !bytes.Equal(p[:m], pattern(1000, byte(n))) {
				t.Fatalf("message %d: %d octets, %v", n, m, err)
			}
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestWriteLongerThanThePeersBuffers: this end refuses such a Write, which would end the stream at
// the peer.
func TestWriteLongerThanThePeersBuffers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, side{cfg: extsock.Config{Messages: true, RecvSize: 100}})
		if _, err := ci.Write(make([]byte, 101)); !errors.Is(err, extsock.ErrMessageLength) {
			t.Errorf("Write of 101 octets: %v, want ErrMessageLength", err)
		}
		if _, err := ci.Write(make([]byte, 100)); err != nil {
			t.Error(err)
		}
		if n, err := cr.Read(make([]byte, 200)); n != 100 || err != nil {
			t.Errorf("Read = %d, %v", n, err)
		}
	})
}

// TestDeadlines: Read and Write give up at their deadline, and the connection goes on. So an
// application has its "reasonable timeout while waiting for FPDUs, ULPDUs, and application level
// messages" (RFC 5044 §7.1.2). MPA-5044-7.1.2-28
func TestDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
		begin := time.Now()
		cr.SetReadDeadline(begin.Add(time.Second))
		_, err := cr.Read(make([]byte, 1))
		if ne := net.Error(nil); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("Read at its deadline: %v", err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("Read gave up after %v, want 1s", d)
		}
		cr.SetReadDeadline(time.Time{})
		if _, err := ci.Write([]byte("late")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 9)
		if n, err := cr.Read(p); string(p[:n]) != "late" || err != nil {
			t.Errorf("Read after a time-out = %q, %v", p[:n], err)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestCanceledReadLeavesTheBufferAlone: the Response comes after ReadAt has given up, and touches
// nothing; the connection is still good.
func TestCanceledReadLeavesTheBufferAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{Delay: time.Second}, inMessages, inMessages)
		r := register(t, cr, pattern(100_000, 3), ddp.RemoteRead)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		p := make([]byte, 100_000)
		_, err := ci.Remote(r.Handle()).Read(ctx, p, 0)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ReadAt = %v, want context.DeadlineExceeded", err)
		}
		time.Sleep(time.Minute)
		if !bytes.Equal(p, make([]byte, len(p))) {
			t.Error("the Response was placed after ReadAt had returned")
		}
		if n, err := ci.Remote(r.Handle()).ReadAt(p, 0); n != len(p) || err != nil || !bytes.Equal(p, pattern(100_000, 3)) {
			t.Errorf("the next ReadAt = %d, %v", n, err)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestRemoteMemory checks the edges of io.ReaderAt and io.WriterAt.
func TestRemoteMemory(t *testing.T) {
	ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
	memory := pattern(100, 0)
	m := ci.Remote(register(t, cr, memory, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic).Handle())
	want := bytes.Clone(memory)
	reads := []struct {
		desc string
		n    int
		off  int64
		got  int
		err  error
	}{
		{"all", 100, 0, 100, nil},
		{"inside", 10, 50, 10, nil},
		{"nothing", 0, 10, 0, nil},
		{"to the end", 10, 90, 10, nil},
		{"over the end", 20, 90, 10, io.EOF},
		{"at the end", 1, 100, 0, io.EOF},
		{"far away", 1, 1 << 40, 0, io.EOF},
		{"before", 1, -1, 0, extsock.ErrRange},
	}
	for _, tt := range reads {
		t.Run("read "+tt.desc, func(t *testing.T) {
			p := make([]byte, tt.n)
			n, err := m.ReadAt(p, tt.off)
			if n != tt.got || !errors.Is(err, tt.err) {
				t.Errorf("ReadAt(%d octets, %d) = %d, %v, want %d, %v", tt.n, tt.off, n, err, tt.got, tt.err)
			}
			if n > 0 && !bytes.Equal(p[:n], want[tt.off:][:n]) {
				t.Errorf("ReadAt gave other octets")
			}
		})
	}
	for _, tt := range []struct {
		n   int
		off int64
		err error
	}{{1, 100, extsock.ErrRange}, {101, 0, extsock.ErrRange}, {1, -1, extsock.ErrRange}, {1, 99, nil}, {0, 100, nil}} {
		if n, err := m.WriteAt(make([]byte, tt.n), tt.off); !errors.Is(err, tt.err) || err == nil && n != tt.n {
			t.Errorf("WriteAt(%d octets, %d) = %d, %v, want %v", tt.n, tt.off, n, err, tt.err)
		}
	}
	if _, err := m.FetchAdd(t.Context(), 93, 1); !errors.Is(err, extsock.ErrRange) {
		t.Errorf("FetchAdd over the end: %v", err)
	}
	if _, err := m.FetchAdd(t.Context(), 3, 1); !errors.Is(err, ddp.ErrMisaligned) {
		t.Errorf("FetchAdd at offset 3: %v", err)
	}
	if _, err := cr.Register(memory[1:], ddp.RemoteAtomic); !errors.Is(err, ddp.ErrMisaligned) {
		t.Errorf("Register of misaligned memory for atomics: %v", err)
	}
	if old, err := extsock.Swap(t.Context(), m, 0, 1); err != nil || old == 1 {
		t.Errorf("Swap = %d, %v", old, err)
	}
	if old, err := m.CompareAndSwap(t.Context(), 0, 1, 2); err != nil || old != 1 {
		t.Errorf("CompareAndSwap = %d, %v", old, err)
	}
	if old, err := m.FetchAdd(t.Context(), 0, 1); err != nil || old != 2 {
		t.Errorf("FetchAdd = %d, %v", old, err)
	}
}

// TestWrongUse: each misuse returns an error of its own, and the connection survives it.
func TestWrongUse(t *testing.T) {
	ci, cr := simPair(t, simtoe.Config{}, inMessages, postRecvs(extsock.Config{}, 1, 8))
	plain, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	inTCP := extsock.NewConn(plain, true, nil)
	defer inTCP.Close()
	tests := []struct {
		desc string
		err  error
		do   func() error
	}{
		{"switch twice", extsock.ErrMode, func() error { return ci.EnableDDP(t.Context(), nil) }},
		{"switch back", errors.ErrUnsupported, func() error { return ci.SetsockoptInt(extsock.SOL_DDP, extsock.DDPMODE, 0) }},
		{"unknown option", errors.ErrUnsupported, func() error { return ci.SetsockoptInt(1, 2, 3) }},
		{"post in TCP mode", extsock.ErrMode, func() error { return postSend(inTCP, nil) }},
		{"read remote memory in TCP mode", extsock.ErrMode, func() error {
			_, err := inTCP.Remote(rdmap.Handle{Len: 1}).ReadAt(make([]byte, 1), 0)
			return err
		}},
		{"private data too long", extsock.ErrPrivateData, func() error { return inTCP.EnableDDP(t.Context(), make([]byte, 500)) }},
		{"post receives for Read", extsock.ErrReceiveOwner, func() error { return ci.PostRecv(rdmap.RecvRequest{}) }},
		{"Read of posted receives", extsock.ErrReceiveOwner, func() error { _, err := cr.Read(make([]byte, 1)); return err }},
		{"no operation", rdmap.ErrBadRequest, func() error { return ci.Post(&rdmap.WorkRequest{}) }},
		{"half-close", errors.ErrUnsupported, ci.CloseWrite},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				err := tt.do()
				if oe := (*net.OpError)(nil); !errors.Is(err, tt.err) || !errors.As(err, &oe) {
					t.Errorf("got %v (%T), want a *net.OpError with %v", err, err, tt.err)
				}
			})
		})
	}
	if _, err := ci.Write([]byte("fine")); err != nil {
		t.Errorf("after all that: %v", err)
	}
	if d := complete(t, cr.RecvCQ()); d.Len != 4 {
		t.Errorf("after all that: %v", d)
	}
}
