package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// shown returns a copy of what the Tap has seen.
func (r *recordTap) shown() (sent, received []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.sent.Bytes()), bytes.Clone(r.received.Bytes())
}

// TestStartTapDuringCopy: a Tap that begins during an io.Copy sees everything that comes
// afterwards, whatever the copy reads from and writes to.
func TestStartTapDuringCopy(t *testing.T) {
	for _, kind := range []string{"readers", "TCP", "unix", "extended sockets"} {
		t.Run(kind, func(t *testing.T) {
			a, b := kernelStreams(t)
			c := extsock.NewConn(a, true, nil)
			var in, out [2]net.Conn // of the source and of the sink
			switch kind {
			case "unix":
				in[0], in[1] = unixStreams(t)
				out[0], out[1] = unixStreams(t)
			case "readers":
				in[0], in[1] = net.Pipe()
				out[0], out[1] = net.Pipe()
			default:
				in[0], in[1] = kernelStreams(t)
				out[0], out[1] = kernelStreams(t)
			}
			if kind == "extended sockets" {
				in[1], out[0] = extsock.NewConn(in[1], false, nil), extsock.NewConn(out[0], true, nil)
			}
			all := []net.Conn{b, c, in[0], in[1], out[0], out[1]}
			for _, x := range all {
				x.SetDeadline(prototest.Deadline(t))
			}
			var copies sync.WaitGroup
			copies.Go(func() { io.Copy(c, in[1]) })
			copies.Go(func() { io.Copy(out[0], c) })
			pass := func(from, to net.Conn, text string) {
				t.Helper()
				got := make([]byte, len(text))
				if _, err := from.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
					t.Fatalf("%q, %v came, want %q", got, err, text)
				}
			}
			pass(in[0], b, "before")
			pass(b, out[1], "before")
			tap := new(recordTap)
			if _, err := c.StartTap(tap.tap); err != nil {
				t.Fatal(err)
			}
			pass(in[0], b, "during")
			pass(in[0], b, " and on")
			pass(b, out[1], "during")
			pass(b, out[1], " and on")
			in[0].Close()
			b.Close()
			copies.Wait() // the Close of c would end the Tap, though a Write of the copy has not returned
			for _, x := range all {
				x.Close()
			}
			sent, received := tap.shown()
			sent = bytes.TrimPrefix(sent, []byte("before")) // the Tap sees it if that Write had not returned when the Tap began
			if string(sent) != "during and on" || string(received) != "during and on" {
				t.Errorf("the Tap has seen %q sent and %q received", sent, received)
			}
		})
	}
}

// TestStartTapDuringFile: a Tap that begins while the kernel sends a file sees the rest of it,
// except for the piece that is on its way.
func TestStartTapDuringFile(t *testing.T) {
	content := pattern(24<<20, 1) // more than TCP takes without a reader
	name := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, b := kernelStreams(t)
	defer b.Close()
	c := extsock.NewConn(a, true, nil)
	copied := make(chan error, 1)
	go func() { _, err := io.Copy(c, f); c.Close(); copied <- err }()
	got := make([]byte, 1)
	if _, err := io.ReadFull(b, got); err != nil {
		t.Fatal(err)
	}
	tap := new(recordTap)
	if _, err := c.StartTap(tap.tap); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(b)
	if got = append(got, rest...); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	if err := <-copied; err != nil {
		t.Error(err)
	}
	if sent, _ := tap.shown(); len(sent) < 8<<20 || !bytes.HasSuffix(content, sent) {
		t.Errorf("the Tap has seen %d bytes, and they are the end of the file: %t", len(sent), bytes.HasSuffix(content, sent))
	}
}

// TestTapAtWriteDeadline: if its deadline ends a Write, the Tap sees what TCP has taken.
func TestTapAtWriteDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{})
		tap := new(recordTap)
		c := extsock.NewConn(a, true, &extsock.Config{Tap: tap.tap})
		c.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := c.Write(pattern(10_000, 1))
		if n == 0 || n == 10_000 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write = %d, %v", n, err)
		}
		c.Close()
		got, err := io.ReadAll(b)
		b.Close()
		if sent, _ := tap.shown(); err != nil || len(got) != n || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes were sent, %v, the Tap has seen %d, and Write returned %d", len(got), err, len(sent), n)
		}
		settle()
	})
}

// A stuckStream is a Stream whose Read and Write ignore deadlines and Close.
type stuckStream struct {
	toe.Stream
	freed chan struct{}
}

func (s *stuckStream) Read(p []byte) (int, error)  { <-s.freed; return s.Stream.Read(p) }
func (s *stuckStream) Write(p []byte) (int, error) { <-s.freed; return s.Stream.Write(p) }

// plainCalls are a Read and a Write of a byte.
var plainCalls = map[string]func(c *extsock.Conn) (byte, error){
	"Read": func(c *extsock.Conn) (byte, error) {
		var p [1]byte
		_, err := c.Read(p[:])
		return p[0], err
	},
	"Write": func(c *extsock.Conn) (byte, error) {
		_, err := c.Write([]byte{0})
		return 0, err
	},
}

// TestTurnEnds: in TCP mode a deadline and Close end a call that waits behind another one, even if
// the stream does not end that other call.
func TestTurnEnds(t *testing.T) {
	for name, call := range plainCalls {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				stuck := &stuckStream{a, make(chan struct{})}
				c := extsock.NewConn(stuck, true, nil)
				begin := func() <-chan error {
					ended := make(chan error, 1)
					go func() { _, err := call(c); ended <- err }()
					synctest.Wait()
					return ended
				}
				check := func(ended <-chan error, want error) {
					t.Helper()
					synctest.Wait()
					select {
					case err := <-ended:
						if op := (*net.OpError)(nil); !errors.Is(err, want) || !errors.As(err, &op) {
							t.Errorf("the error is %v, want %v", err, want)
						}
					default:
						t.Errorf("waits behind another call, want %v", want)
					}
				}
				first, second := begin(), begin()
				c.SetDeadline(time.Now().Add(time.Second))
				time.Sleep(time.Second)
				check(second, os.ErrDeadlineExceeded)
				c.SetDeadline(time.Time{})
				third := begin()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				check(third, net.ErrClosed)
				close(stuck.freed)
				<-first
				b.Close()
				settle()
			})
		})
	}
}

// TestTurnOrder: Reads that wait get the bytes in the order in which they came.
func TestTurnOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, nil)
		const text = "abcdefgh"
		var got [len(text)]byte
		var reads sync.WaitGroup
		for i := range got {
			reads.Go(func() {
				var err error
				if got[i], err = plainCalls["Read"](c); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // all wait durably, although all but one wait for another Read
		}
		b.Write([]byte(text))
		reads.Wait()
		if string(got[:]) != text {
			t.Errorf("the Reads got %q in the order in which they came, want %q", got, text)
		}
		c.Close()
		b.Close()
		settle()
	})
}

// TestTapInStreamOrder: the Tap sees the Writes and Reads of several goroutines in the order of the
// stream, even if some of them waited when the Tap began.
func TestTapInStreamOrder(t *testing.T) {
	for range testmode.Rounds(100, 30) {
		a, b := kernelStreams(t)
		sender, receiver := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
		var readers, writers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				p := make([]byte, 5)
				for {
					if _, err := receiver.Read(p); err != nil {
						return
					}
				}
			})
		}
		out, in := new(recordTap), new(recordTap)
		if _, err := sender.StartTap(out.tap); err != nil {
			t.Fatal(err)
		}
		if _, err := receiver.StartTap(in.tap); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			writers.Go(func() {
				for k := range 20 {
					fmt.Fprintf(sender, "<%d %d>", i, k)
				}
			})
		}
		writers.Wait()
		sender.Close()
		readers.Wait()
		receiver.Close()
		sent, _ := out.shown()
		_, received := in.shown()
		if !bytes.Equal(sent, received) {
			t.Fatalf("sent     %q\nreceived %q", sent, received)
		}
	}
}
