package netconn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/toetest"
)

func pipe(*testing.T) (a, b net.Conn) { return net.Pipe() }

// lateTLS returns both sides of a TLS connection before their handshake.
func lateTLS(t *testing.T) (a, b net.Conn) {
	x, y := socketPair(t, "tcp", "127.0.0.1:0")
	return tlsOver(t, x, y)
}

func TestNewBufferedContract(t *testing.T) {
	for _, test := range []struct {
		desc string
		pair func(t *testing.T) (a, b net.Conn)
	}{
		{"net.Pipe", pipe},
		{"unix", unixPair},
	} {
		t.Run(test.desc, func(t *testing.T) {
			toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) {
				x, y := test.pair(t)
				return netconn.NewBuffered(x), netconn.NewBuffered(y)
			})
		})
	}
}

func TestNewBufferedNetConn(t *testing.T) {
	for _, test := range []struct {
		desc string
		pair func(t *testing.T) (a, b net.Conn)
	}{
		{"net.Pipe", pipe},
		{"unix", unixPair},
		{"TLS", lateTLS},
	} {
		t.Run(test.desc, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				x, y := test.pair(t)
				a, b := netconn.NewBuffered(x), netconn.NewBuffered(y)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	}
}

func TestNewBufferedOfStreamIsTheStream(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	s := netconn.New(a)
	defer s.Close()
	if got := netconn.NewBuffered(s); got != s {
		t.Errorf("WrapBuffered(%p) = %p, want the same", s, got)
	}
}

// overPipes runs f in a bubble, on a buffered side of a net.Pipe, and on a side of TLS over a
// net.Pipe. y is a's peer. With TLS, y has not run its handshake.
func overPipes(t *testing.T, f func(t *testing.T, a toe.Stream, y net.Conn)) {
	for _, overTLS := range []bool{false, true} {
		t.Run(map[bool]string{false: "net.Pipe", true: "TLS"}[overTLS], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := net.Pipe()
				if overTLS {
					a, b := tlsOver(t, x, y)
					x, y = a, b
				}
				defer y.Close()
				a := netconn.NewBuffered(x)
				defer a.Close()
				f(t, a, y)
			})
		})
	}
}

// readable waits until there is something to read, with a Lender that takes its memory back, and
// reads at most one byte.
func readable(s toe.Stream) error {
	_, _, err := s.ReadSegment(late{make([]byte, 1)}, 0)
	return err
}

// numbers returns n bytes, none of which equals its neighbors.
func numbers(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i / 251)
	}
	return p
}

// mustRead reads as many bytes as want has from c, and compares them with want.
func mustRead(t *testing.T, c net.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read %d octets, %v; or not those written", n, err)
	}
}

// TestBufferedWriteDeadline checks that a Write whose deadline passes has written the part that it
// reports, and that the stream continues after that part.
func TestBufferedWriteDeadline(t *testing.T) {
	overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
		data := numbers(2 * netconn.SendSize)
		begin := time.Now()
		a.SetWriteDeadline(begin.Add(time.Second))
		n, err := a.Write(data)
		if n != netconn.SendSize || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
			t.Fatalf("Write = %d, %v after %v, want %d, a timeout after 1s", n, err, time.Since(begin), netconn.SendSize)
		}
		if n, err := a.Write(data); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write behind the deadline = %d, %v, want 0, a timeout", n, err)
		}
		mustRead(t, y, data[:n])
		a.SetWriteDeadline(time.Time{})
		if m, err := a.Write(data[n:]); m != len(data)-n || err != nil {
			t.Fatalf("Write = %d, %v", m, err)
		}
		mustRead(t, y, data[n:])
		synctest.Wait()
		if !netconn.Idle(a) {
			t.Error("an idle stream keeps its send buffer or its goroutine")
		}
	})
}

// TestBufferedTryWriteBatch fills the send buffer.
func TestBufferedTryWriteBatch(t *testing.T) {
	overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
		w := a
		data := numbers(netconn.SendSize + 1000)
		a.SetWriteDeadline(time.Unix(1, 0))
		begin := time.Now()
		if n, err := w.TryWriteBatch([][]byte{data[:10], {}, data[10:]}); n != netconn.SendSize || err != nil {
			t.Errorf("TryWriteBatch = %d, %v, want %d", n, err, netconn.SendSize)
		}
		if n, err := w.TryWriteBatch([][]byte{data}); n != 0 || err != nil {
			t.Errorf("TryWriteBatch of a full buffer = %d, %v, want 0", n, err)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("TryWriteBatch waited %v", d)
		}
		mustRead(t, y, data[:netconn.SendSize])
	})
}

// TestBufferedTryWriteBatchAmidWrite checks that no other bytes come between the bytes of a Write
// that waits for room.
func TestBufferedTryWriteBatchAmidWrite(t *testing.T) {
	overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
		data := numbers(2 * netconn.SendSize)
		var writes sync.WaitGroup
		for range 2 {
			writes.Go(func() {
				if n, err := a.Write(data); n != len(data) || err != nil {
					t.Errorf("Write = %d, %v", n, err)
				}
			})
		}
		synctest.Wait()
		if n, err := a.TryWriteBatch([][]byte{{1}}); n != 0 || err != nil {
			t.Errorf("TryWriteBatch = %d, %v, want 0", n, err)
		}
		mustRead(t, y, data)
		mustRead(t, y, data)
		writes.Wait()
	})
}

// TestBufferedCloseLetsOut checks that what was written before Close arrives, followed by the end.
func TestBufferedCloseLetsOut(t *testing.T) {
	overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
		data := numbers(netconn.SendSize)
		if _, err := a.Write(data); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := a.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("Close waited %v", d)
		}
		time.Sleep(4 * time.Second)
		mustRead(t, y, data)
		if n, err := y.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read at the end = %d, %v, want io.EOF", n, err)
		}
	})
}

// TestBufferedFlush checks that, after Close or CloseWrite, Flush returns when the peer's side has
// everything, and not at its timeout.
func TestBufferedFlush(t *testing.T) {
	for _, half := range []bool{false, true} {
		overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
			f := a
			data := numbers(netconn.SendSize)
			if _, err := a.Write(data); err != nil {
				t.Fatal(err)
			}
			end := a.Close
			if half {
				end = a.CloseWrite
			}
			if err := end(); err != nil && !errors.Is(err, errors.ErrUnsupported) { // net.Pipe has no half-close
				t.Fatal(err)
			}
			begin := time.Now()
			if err := f.Flush(time.Second); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("Flush = %v after %v, while nobody reads", err, time.Since(begin))
			}
			go func() {
				time.Sleep(time.Second)
				mustRead(t, y, data)
				io.Copy(io.Discard, y)
			}()
			if err := f.Flush(3 * time.Second); err != nil || time.Since(begin) != 2*time.Second {
				t.Errorf("Flush = %v after %v, want nil after 2s", err, time.Since(begin))
			}
			a.Close()
			synctest.Wait()
			if err := f.Flush(time.Second); err != nil || time.Since(begin) != 2*time.Second {
				t.Errorf("Flush of a stream that has ended = %v after %v", err, time.Since(begin))
			}
		})
	}
}

// TestBufferedCloseOfStuckPeer checks that a peer that does not read keeps a goroutine for only 5
// s. The end of the bubble would detect a remaining goroutine.
func TestBufferedCloseOfStuckPeer(t *testing.T) {
	for _, test := range []struct {
		desc string
		left int64 // octets that y may have buffered
		use  func(t *testing.T, a toe.Stream, y net.Conn)
	}{
		{"octets", 16 << 10, func(t *testing.T, a toe.Stream, y net.Conn) {
			data := numbers(netconn.SendSize)
			a.Write(data)
			mustRead(t, y, data[:100])
		}},
		{"half-close", 0, func(t *testing.T, a toe.Stream, y net.Conn) {
			a.Write([]byte("last words"))
			a.CloseWrite()
			mustRead(t, y, []byte("last words"))
		}},
		{"nothing read", 0, func(t *testing.T, a toe.Stream, _ net.Conn) { a.Write([]byte("in vain")) }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
				test.use(t, a, y)
				begin := time.Now()
				a.Close()
				if d := time.Since(begin); d != 0 {
					t.Errorf("Close waited %v", d)
				}
				if err := a.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("second Close = %v, want net.ErrClosed", err)
				}
				time.Sleep(6 * time.Second)
				if n, _ := io.Copy(io.Discard, y); n > test.left {
					t.Errorf("read %d octets 6s after Close, want at most %d", n, test.left)
				}
			})
		})
	}
}

// TestBufferedBothClose checks that two ends that close with full buffers do not wait for each
// other.
func TestBufferedBothClose(t *testing.T) {
	overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
		b := netconn.NewBuffered(y)
		data := numbers(netconn.SendSize)
		a.Write(data)
		b.Write(data)
		synctest.Wait()
		begin := time.Now()
		a.Close()
		b.Close()
		if _, err := a.Read(data); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read = %v, want net.ErrClosed", err)
		}
		synctest.Wait()
		for _, c := range []net.Conn{a, b} {
			if err := c.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("SetDeadline = %v, want net.ErrClosed", err)
			}
		}
		if _, err := y.Read(data); err == nil || time.Since(begin) != 0 {
			t.Errorf("Read of a closed net.Conn = %v, after %v", err, time.Since(begin))
		}
	})
}

// TestBufferedCloseEndsCalls checks that Close ends calls that wait for bytes, for room or for the
// handshake.
func TestBufferedCloseEndsCalls(t *testing.T) {
	for _, test := range []struct {
		desc string
		used bool // the handshake is done
		read func(a toe.Stream) error
	}{
		{"Read", true, func(a toe.Stream) error { _, err := a.Read(make([]byte, 1)); return err }},
		{"ReadSegment", true, func(a toe.Stream) error { _, _, err := toetest.ReadSegment(a, make([]byte, 1)); return err }},
		{"Read, no handshake", false, func(a toe.Stream) error { _, err := a.Read(make([]byte, 1)); return err }},
		{"ReadSegment, no handshake", false, readable},
	} {
		t.Run(test.desc, func(t *testing.T) {
			overPipes(t, func(t *testing.T, a toe.Stream, y net.Conn) {
				if test.used {
					a.Write([]byte("x"))
					mustRead(t, y, []byte("x"))
				}
				var calls sync.WaitGroup
				for _, f := range []func() error{
					func() error { return test.read(a) },
					func() error { return toetest.WriteBatch(a, [][]byte{numbers(2 * netconn.SendSize)}) },
					func() error { _, err := a.Write(numbers(2 * netconn.SendSize)); return err },
				} {
					calls.Go(func() {
						if err := f(); !errors.Is(err, net.ErrClosed) {
							t.Errorf("a call during Close = %v, want net.ErrClosed", err)
						}
					})
				}
				synctest.Wait()
				begin := time.Now()
				a.Close()
				calls.Wait()
				if d := time.Since(begin); d != 0 {
					t.Errorf("calls ended %v after Close", d)
				}
			})
		})
	}
}

// failing is a net.Conn whose Write fails.
type failing struct {
	net.Conn
	err error
}

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) CloseWrite() error         { return nil }

func TestBufferedErrorSticks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		broken := errors.New("broken")
		a := netconn.NewBuffered(failing{x, broken})
		defer a.Close()
		if n, err := a.Write([]byte("lost")); n != 4 || err != nil {
			t.Errorf("Write = %d, %v, want 4", n, err)
		}
		synctest.Wait()
		_, err := a.Write([]byte{1})
		_, tryErr := a.TryWriteBatch([][]byte{{1}})
		for _, err := range []error{err, tryErr, toetest.WriteBatch(a, [][]byte{{1}}), a.CloseWrite()} {
			if !errors.Is(err, broken) {
				t.Errorf("a write behind a failure = %v, want %v", err, broken)
			}
		}
		if !netconn.Idle(a) {
			t.Error("a failed stream keeps its send buffer or its goroutine")
		}
	})
}

// TestBufferedCloseWriteWaits checks that the half-close follows the last byte, however long the
// peer takes. A *tls.Conn itself gives up after 5 s.
func TestBufferedCloseWriteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		a, b := tlsOver(t, x, y)
		s, peer := netconn.New(a), netconn.New(b)
		defer s.Close()
		defer peer.Close()
		data := numbers(netconn.SendSize)
		if _, err := s.Write(data); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range 2 {
			if err := s.CloseWrite(); err != nil {
				t.Errorf("CloseWrite = %v", err)
			}
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("CloseWrite waited %v", d)
		}
		if _, err := s.Write(data); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write after CloseWrite = %v, want EPIPE", err)
		}
		mustRead(t, peer, data[:1]) // the handshake has its own time
		time.Sleep(time.Hour / 4)
		mustRead(t, peer, data[1:])
		time.Sleep(time.Hour / 2)
		for range 2 {
			if n, err := peer.Read(data); n != 0 || err != io.EOF {
				t.Errorf("Read at the end = %d, %v, want io.EOF", n, err)
			}
		}
		// The other direction continues.
		if _, err := peer.Write(data); err != nil {
			t.Errorf("Write against the half-close = %v", err)
		}
		mustRead(t, s, data)
		synctest.Wait()
		if err := s.CloseWrite(); err != nil {
			t.Errorf("CloseWrite at the end = %v", err)
		}
	})
}

// TestHandshakeIsNotUnderDeadline checks that deadlines that pass during the handshake, on both
// sides, end only calls.
func TestHandshakeIsNotUnderDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		a, b := tlsOver(t, x, y)
		a.SetDeadline(time.Now().Add(time.Second)) // set before the Stream: removed
		s, peer := netconn.New(a), netconn.New(b)
		defer s.Close()
		defer peer.Close()

		begin := time.Now()
		s.SetDeadline(begin.Add(2 * time.Second))
		var calls sync.WaitGroup
		for _, f := range []func() error{
			func() error { return readable(s) },
			func() error { _, err := s.Read(make([]byte, 1)); return err },
			func() error { _, _, err := toetest.ReadSegment(s, make([]byte, 1)); return err },
			func() error { return toetest.WriteBatch(s, [][]byte{numbers(2 * netconn.SendSize)}) },
		} {
			calls.Go(func() {
				if err := f(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != 2*time.Second {
					t.Errorf("a call during the handshake = %v after %v, want a timeout after 2s", err, time.Since(begin))
				}
			})
		}
		calls.Wait()
		s.SetDeadline(time.Time{})
		mustRead(t, peer, numbers(2 * netconn.SendSize)[:netconn.SendSize])

		// A read deadline set during the handshake also applies after it.
		s.SetReadDeadline(time.Now().Add(time.Second))
		if err := readable(s); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("ReadSegment = %v, want a timeout", err)
		}
		s.SetReadDeadline(time.Time{})
		peer.Write([]byte("x"))
		mustRead(t, s, []byte("x"))
	})
}

// TestDeadlineSetDuringHandshake checks that such a deadline applies after the handshake.
func TestDeadlineSetDuringHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		a, b := tlsOver(t, x, y)
		s, peer := netconn.New(a), netconn.New(b)
		defer s.Close()
		defer peer.Close()
		begin := time.Now()
		s.SetReadDeadline(begin.Add(3 * time.Second))
		var reads sync.WaitGroup
		reads.Go(func() {
			if err := readable(s); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != 3*time.Second {
				t.Errorf("ReadSegment = %v after %v, want a timeout after 3s", err, time.Since(begin))
			}
		})
		time.Sleep(time.Second)
		peer.SetReadDeadline(time.Now()) // enough to begin the handshake
		readable(peer)
		peer.SetReadDeadline(time.Now().Add(time.Second))
		readable(peer)
		reads.Wait()
	})
}

// TestNoHandshake checks the errors for a silent peer and for a peer that goes away.
func TestNoHandshake(t *testing.T) {
	for _, test := range []struct {
		desc  string
		peer  func(y net.Conn)
		after time.Duration
		want  error // nil: any
	}{
		{"silence", func(net.Conn) {}, 10 * time.Second, nil},
		{"a FIN", func(y net.Conn) { y.Close() }, 0, nil},
		{"a FIN behind the first octets", func(y net.Conn) { io.ReadFull(y, make([]byte, 5)); y.Close() }, 0, nil},
		{"a FIN instead of an answer", func(y net.Conn) {
			p := make([]byte, 1<<14)
			y.Read(p[:5])
			y.Read(p) // the ClientHello
			y.Close()
		}, 0, io.ErrUnexpectedEOF},
		{"something else", func(y net.Conn) {
			go io.Copy(io.Discard, y)
			y.Write([]byte("220 mail.example.org ESMTP ready\r\n"))
		}, 0, nil},
	} {
		t.Run(test.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := net.Pipe()
				defer y.Close()
				s := netconn.New(tls.Client(x, &tls.Config{ServerName: "toe"}))
				defer s.Close()
				go test.peer(y)
				begin := time.Now()
				err := readable(s)
				timeout := (net.Error)(nil)
				if err == nil || errors.Is(err, io.EOF) || errors.As(err, &timeout) && timeout.Timeout() {
					t.Errorf("ReadSegment = %v, want an error that is neither io.EOF nor a timeout", err)
				}
				if test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("ReadSegment = %v, want %v", err, test.want)
				}
				if d := time.Since(begin); d != test.after {
					t.Errorf("ReadSegment failed after %v, want %v", d, test.after)
				}
				_, readErr := s.Read(make([]byte, 1))
				_, writeErr := s.Write([]byte{1})
				if readErr == nil || writeErr == nil || readErr.Error() == "" {
					t.Errorf("Read = %v, Write = %v, want errors", readErr, writeErr)
				}
				if !netconn.Idle(s) {
					t.Error("a failed stream keeps its send buffer or its goroutine")
				}
			})
		})
	}
}

// A lingering is a net.Conn over a pipe. In SetLinger the peer reads unread bytes, so that the
// Write in progress returns, and all other goroutines run until they block.
type lingering struct {
	net.Conn
	peer    net.Conn
	unread  int
	closed  atomic.Bool
	orderly bool // the connection was closed before SetLinger
}

func (l *lingering) SetLinger(int) error {
	io.ReadFull(l.peer, make([]byte, l.unread))
	synctest.Wait()
	l.orderly = l.closed.Load()
	return nil
}

func (l *lingering) Close() error {
	l.closed.Store(true)
	return l.Conn.Close()
}

// A wrapping is a net.Conn over a lingering one, as a *tls.Conn is.
type wrapping struct{ *lingering }

func (w wrapping) NetConn() net.Conn { return w.lingering }

// TestAbortIsAReset checks that the goroutine of the send buffer does not close the connection in
// an orderly way while Abort makes it reset.
func TestAbortIsAReset(t *testing.T) {
	for _, wraps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x, y := net.Pipe()
			l := &lingering{Conn: x, peer: y, unread: 100}
			var c net.Conn = l
			if wraps {
				c = wrapping{l}
			}
			s := netconn.NewBuffered(c)
			if n, err := s.Write(numbers(l.unread)); n != l.unread || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			synctest.Wait() // conn's Write waits for the peer
			if err := s.Abort(); err != nil {
				t.Errorf("wrapped %t: Abort = %v", wraps, err)
			}
			if l.orderly {
				t.Errorf("wrapped %t: the connection was closed before it was a reset", wraps)
			}
			if _, err := y.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("wrapped %t: Read after Abort = %v, want the end of the pipe", wraps, err)
			}
			synctest.Wait()
			if !netconn.Idle(s) {
				t.Errorf("wrapped %t: the stream keeps its send buffer or its goroutine", wraps)
			}
		})
	}
}
