package kernel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
)

// pairOf returns the two sides of a connection over loopback that b makes.
func pairOf(t testing.TB, b *Backend) (x, y *Stream) {
	t.Helper()
	l, err := b.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	xs, err := b.Dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ys, err := l.Accept()
	if err != nil {
		xs.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		xs.Close()
		ys.Close()
	})
	return xs.(*Stream), ys.(*Stream)
}

// unixPairOf returns the two sides of a connection over a unix socket.
func unixPairOf(t testing.TB) (x, y *UnixStream) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var streams [2]*UnixStream
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		streams[i] = NewUnix(c.(*net.UnixConn)).(*UnixStream)
	}
	return streams[0], streams[1]
}

// control calls f with the file descriptor of s.
func control(t *testing.T, s *Stream, f func(fd int) error) {
	t.Helper()
	raw, err := s.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

// "EMSS is the smaller of the TCP maximum segment size (MSS) as defined in RFC
// 793 [RFC793], and the current path Maximum Transmission Unit (MTU)"
// (RFC 5044 §2)
// "If the TCP implementation allows EMSS to be determined by MPA, that value
// should be used." (RFC 5044 §5.1)
// MPA-5044-2-1 MPA-5044-5.1-2
func TestRFC5044_2_EMSSIsThatOfTCP(t *testing.T) {
	for _, test := range emssTests {
		t.Run(test.desc, func(t *testing.T) {
			x, y := pairOf(t, test.b)
			for _, s := range []*Stream{x, y} {
				if got := s.EMSS(); got < test.min || got > test.max {
					t.Errorf("EMSS() = %d, want %d to %d", got, test.min, test.max)
				}
			}
		})
	}
}

var emssTests = []struct {
	desc     string
	b        *Backend
	min, max int
}{
	{"loopback: path MTU, or half the window", &Backend{}, 1449, 65536 - 40},
	{"MSS of the peer", &Backend{ListenConfig: net.ListenConfig{Control: maxSeg(1000)}}, 960, 1000},
	{"MSS of our own", &Backend{Dialer: net.Dialer{Control: maxSeg(600)}}, 560, 600},
}

// maxSeg sets the MSS of a socket that is not connected yet.
func maxSeg(n int) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, n) })
		return err
	}
}

// TestEMSSIsThatOfTCPInfo checks that EMSS is the sending MSS of TCP_INFO. It is a test of its own
// because qemu-user does not know TCP_INFO, so `make machines` skips it there.
// MPA-5044-2-1 MPA-5044-5.1-2
func TestEMSSIsThatOfTCPInfo(t *testing.T) {
	for _, test := range emssTests {
		t.Run(test.desc, func(t *testing.T) {
			x, y := pairOf(t, test.b)
			for _, s := range []*Stream{x, y} {
				var info *unix.TCPInfo
				control(t, s, func(fd int) (err error) {
					info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
					return err
				})
				if got := s.EMSS(); got != int(info.Snd_mss) {
					t.Errorf("EMSS() = %d, want tcpi_snd_mss = %d", got, info.Snd_mss)
				}
			}
		})
	}
}

// TestEMSSIsRefreshed checks that EMSS returns a new value after at most 64 calls. MPA-5044-2-1
func TestEMSSIsRefreshed(t *testing.T) {
	x, _ := pairOf(t, &Backend{})
	want := x.EMSS()
	x.emss.Store(1)
	for range emssEvery {
		x.EMSS()
	}
	if got := x.EMSS(); got != want {
		t.Errorf("EMSS() = %d after %d calls, want %d", got, emssEvery, want)
	}
}

// "using the TCP_NODELAY socket option to disable the Nagle [RFC896] algorithm will usually result
// in many of the segments starting with an FPDU" (RFC 5044 §5.1)
// MPA-5044-5.1-4
func TestNewSwitchesNagleOff(t *testing.T) {
	x, _ := pairOf(t, &Backend{})
	if err := x.SetNoDelay(false); err != nil {
		t.Fatal(err)
	}
	control(t, New(x.TCPConn).(*Stream), func(fd int) error {
		on, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY)
		if on == 0 {
			t.Error("TCP_NODELAY is off, want on")
		}
		return err
	})
}

func TestNewOfClosedConn(t *testing.T) {
	x, _ := pairOf(t, &Backend{})
	x.Close()
	s := New(x.TCPConn)
	if got := s.EMSS(); got != toe.DefaultEMSS {
		t.Errorf("EMSS() = %d, want %d", got, toe.DefaultEMSS)
	}
	if _, _, err := toetest.ReadSegment(s, make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("ReadSegment = %v, want net.ErrClosed", err)
	}
}

// resetByPeer lets y reset the connection and waits until x's kernel knows.
func resetByPeer(t *testing.T, x, y *Stream) {
	t.Helper()
	if err := y.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	waitUntilReadable(t, x)
}

// A reset connection must not look like an orderly end, whichever call learns of the reset from the
// kernel.
func TestResetIsNeverEOF(t *testing.T) {
	for _, test := range []struct {
		desc   string
		waited bool // a ReadSegment before the reset had to wait
		first  func(x *Stream) error
	}{
		{"told to the ReadSegment after one that waited", true, func(x *Stream) error { _, _, err := toetest.ReadSegment(x, make([]byte, 1)); return err }},
		{"told to ReadSegment", false, func(x *Stream) error { _, _, err := toetest.ReadSegment(x, make([]byte, 1)); return err }},
		{"told to TryWriteBatch", false, func(x *Stream) error { _, err := x.TryWriteBatch([][]byte{{1}}); return err }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			x, y := pairOf(t, &Backend{})
			if test.waited {
				write := func() { toetest.WriteBatch(y, [][]byte{{1}}) }
				if n, _, err := x.ReadSegment(&counted{late: late{make([]byte, 1)}, onWait: write}, 0); n != 1 || err != nil {
					t.Fatalf("ReadSegment = %d, %v", n, err)
				}
			}
			resetByPeer(t, x, y)
			if err := test.first(x); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("first call = %v, want ECONNRESET", err)
			}
			for range 2 {
				if _, _, err := toetest.ReadSegment(x, make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("ReadSegment = %v, want ECONNRESET", err)
				}
			}
		})
	}
}

// TestResetWhileWriting: a ReadSegment between the system call of a write, which gets the reset,
// and the end of the write returns the reset too, not an end of stream.
func TestResetWhileWriting(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	resetByPeer(t, x, y)
	x.writes.Add(1) // as TryWriteBatch
	var err error
	x.raw.Control(func(fd uintptr) { _, err = unix.SendmsgN(int(fd), []byte{1}, nil, nil, sendFlags) })
	if err != unix.ECONNRESET {
		t.Fatalf("the write: %v", err)
	}
	read := make(chan error, 1)
	go func() {
		_, _, err := toetest.ReadSegment(x, make([]byte, 1))
		read <- err
	}()
	prototest.Wait(t, "ReadSegment sees the end", func() bool {
		b := make([]byte, 1<<20)
		return len(read) > 0 || bytes.Contains(b[:runtime.Stack(b, true)], []byte(".awaitWrite("))
	})
	x.breakWith(err)
	x.writes.Add(1)
	if err := <-read; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ReadSegment = %v, want ECONNRESET", err)
	}
}

// A unix socket is reset, too, if its peer closes with unread bytes.
func TestUnixResetIsNeverEOF(t *testing.T) {
	x, y := unixPairOf(t)
	if err := toetest.WriteBatch(x, [][]byte{{1}}); err != nil {
		t.Fatal(err)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, _, err := toetest.ReadSegment(x, make([]byte, 1))
		if e := (*net.OpError)(nil); !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &e) || e.Net != "unix" {
			t.Errorf("ReadSegment = %v, want ECONNRESET", err)
		}
	}
	if got := x.EMSS(); got != toe.DefaultEMSS {
		t.Errorf("EMSS() = %d, want %d", got, toe.DefaultEMSS)
	}
}

// A write after our own half-close fails; the peer's FIN is still a FIN.
func TestWriteAfterCloseWriteLeavesEOF(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	if err := x.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := toetest.WriteBatch(x, [][]byte{{1}}); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("WriteBatch = %v, want EPIPE", err)
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := toetest.ReadSegment(x, make([]byte, 1)); err != io.EOF {
		t.Errorf("ReadSegment = %v, want io.EOF", err)
	}
}

// TestWriteHappensBeforeRead checks under the race detector that TryWriteBatch on one side happens
// before the read on the other, as for a net.Conn.
func TestWriteHappensBeforeRead(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	shared := 0
	done := make(chan error, 1)
	go func() {
		shared = 1
		done <- toetest.WriteBatch(x, [][]byte{{1}})
	}()
	if _, _, err := toetest.ReadSegment(y, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if shared != 1 {
		t.Error("shared is not written")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestWriterForgets checks that the pool keeps no pointer to a caller's memory.
func TestWriterForgets(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	w := writers.New().(*writer)
	w.bufs = [][]byte{make([]byte, 10), make([]byte, 64<<20), make([]byte, 10)} // more than is taken
	w.long = &x.long
	if err := x.raw.Control(w.writevFunc); err != nil || w.first == w.end {
		t.Fatalf("%v, %d iovecs left, want some", err, w.end-w.first)
	}
	if _, err := x.finish(w, nil); err != nil {
		t.Fatal(err)
	}
	for i, v := range w.iovecs {
		if v.Base != nil {
			t.Errorf("iovec %d is kept", i)
		}
	}
	if w.bufs != nil || w.n != 0 || w.errno != 0 || w.long != nil || w.msg.Iov != nil {
		t.Errorf("%d slices, n = %d, errno = %v, %p, %p are kept", len(w.bufs), w.n, w.errno, w.long, w.msg.Iov)
	}
	y.Close()
}

// TestNoDescriptorLeaks counts the file descriptors of the process.
func TestNoDescriptorLeaks(t *testing.T) {
	count := func() int {
		t.Helper()
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	round := func() {
		b := &Backend{}
		l, err := b.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		x, err := b.Dial(context.Background(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		y, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		toetest.WriteBatch(x, [][]byte{{1}})
		toetest.ReadSegment(y, make([]byte, 1))
		for _, c := range []io.Closer{x, y, l} {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	round() // the poller has its own descriptors
	before := count()
	for range 50 {
		round()
	}
	if after := count(); after > before { // fewer if descriptors of earlier tests have been closed
		t.Errorf("%d descriptors, were %d", after, before)
	}
}

// late is a Lender that takes its memory back.
type late struct{ p []byte }

func (l *late) Lend() []byte   { return l.p }
func (l *late) TakeBack() bool { return false }

// A counted is a Lender that takes its memory back, and counts how often it does.
type counted struct {
	late
	lends  int
	waits  int
	onWait func()
}

func (c *counted) Lend() []byte {
	c.lends++
	return c.late.Lend()
}

func (c *counted) TakeBack() bool {
	if c.waits++; c.waits == 1 && c.onWait != nil {
		c.onWait()
	}
	return false
}

// TestPatience checks that ReadSegment reads bytes without a wait if they arrive while it is
// patient, and after a wait if they arrive later.
func TestPatience(t *testing.T) {
	for _, test := range []struct {
		desc     string
		patience time.Duration
		waits    bool
	}{{"comes while it is patient", time.Minute, false}, {"comes later", time.Microsecond, true}, {"none", 0, true}} {
		t.Run(test.desc, func(t *testing.T) {
			x, y := pairOf(t, &Backend{})
			write := func() {
				if err := toetest.WriteBatch(x, [][]byte{{1, 2, 3}}); err != nil {
					t.Error(err)
				}
			}
			l := &counted{late: late{make([]byte, 8)}}
			if test.waits {
				l.onWait = write
			} else {
				time.AfterFunc(20*time.Millisecond, write)
			}
			n, off, err := y.ReadSegment(l, test.patience)
			if n != 3 || off != 0 || err != nil {
				t.Errorf("ReadSegment = %d, %d, %v", n, off, err)
			}
			if (l.waits > 0) != test.waits {
				t.Errorf("waited %d times", l.waits)
			}
		})
	}
}

// TestLooksBeforeItBorrows checks that a reader that had to wait last time borrows no buffer before
// bytes have arrived, and that it finds bytes that have already arrived.
func TestLooksBeforeItBorrows(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	write := func() {
		if err := toetest.WriteBatch(x, [][]byte{{1, 2, 3}}); err != nil {
			t.Error(err)
		}
	}
	off := uint64(0)
	read := func(desc string, onWait func(), wantLends, wantWaits int) {
		t.Helper()
		l := &counted{late: late{make([]byte, 8)}, onWait: onWait}
		n, at, err := y.ReadSegment(l, 0)
		if n != 3 || at != off || err != nil {
			t.Fatalf("%s: ReadSegment = %d, %d, %v", desc, n, at, err)
		}
		if l.lends != wantLends || l.waits != wantWaits {
			t.Errorf("%s: borrowed %d times and waited %d times, want %d and %d", desc, l.lends, l.waits, wantLends, wantWaits)
		}
		off += 3
	}
	read("the first", write, 2, 1)
	read("after one that waited", write, 1, 1)
	write()
	waitUntilReadable(t, y)
	read("bytes are there", nil, 1, 0)
	read("after one that did not wait", write, 2, 1)
}

// waitUntilReadable waits until bytes or a reset have arrived at s.
func waitUntilReadable(t *testing.T, s *Stream) {
	t.Helper()
	control(t, s, func(fd int) error {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(fds, int(time.Minute/time.Millisecond))
			if err == unix.EINTR {
				continue
			}
			if err == nil && n != 1 {
				err = errors.New("nothing arrives")
			}
			return err
		}
	})
}
