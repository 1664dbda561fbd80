package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/simtoe"
)

// copyPairs are the kinds of connection that TestCopy copies through.
var copyPairs = map[string]func(t *testing.T) (from, to *extsock.Conn){
	"TCP mode": func(t *testing.T) (from, to *extsock.Conn) {
		a, b := kernelStreams(t)
		return extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	},
	"TCP mode with a capture": func(t *testing.T) (from, to *extsock.Conn) {
		a, b := kernelStreams(t)
		return extsock.NewConn(a, true, &extsock.Config{Tap: new(recorder).tap}),
			extsock.NewConn(b, false, &extsock.Config{Tap: new(recorder).tap})
	},
	"a hybrid listener's plain peer": func(t *testing.T) (from, to *extsock.Conn) {
		a, b := kernelStreams(t)
		return extsock.NewConn(a, true, nil), extsock.NewConn(b, false, &extsock.Config{Startup: extsock.StartupPrefer})
	},
	"TLS": func(t *testing.T) (from, to *extsock.Conn) {
		a, b := tlsStreams(t)
		return extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	},
	"unix": func(t *testing.T) (from, to *extsock.Conn) {
		a, b := unixStreams(t)
		return extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
	},
	"DDP mode": func(t *testing.T) (from, to *extsock.Conn) { return tcpPair(t, side{}, side{}) },
	"DDP mode at the first use": func(t *testing.T) (from, to *extsock.Conn) {
		a, b := kernelStreams(t)
		return extsock.NewConn(a, true, &extsock.Config{Startup: extsock.StartupRequire}),
			extsock.NewConn(b, false, &extsock.Config{Startup: extsock.StartupPrefer})
	},
}

// TestCopy: a file goes through io.Copy, and net.Buffers, into a connection and out of the other
// end into a file, in each mode. In DDP mode package os must not find the socket and send the
// octets past DDP.
func TestCopy(t *testing.T) {
	content := pattern(300_000, 1)
	name := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for desc, pair := range copyPairs {
		t.Run(desc, func(t *testing.T) {
			from, to := pair(t)
			defer from.Close()
			defer to.Close()
			for _, c := range []*extsock.Conn{from, to} {
				if err := c.SetDeadline(prototest.Deadline(t)); err != nil {
					t.Fatal(err)
				}
			}
			sent := make(chan error, 1)
			go func() {
				sent <- func() error {
					f, err := os.Open(name)
					if err != nil {
						return err
					}
					defer f.Close()
					if n, err := io.Copy(from, f); n != int64(len(content)) || err != nil {
						t.Errorf("io.Copy to the connection: %d, %v", n, err)
					}
					bufs := net.Buffers{content[:10], nil, content[10:40_000], content[40_000:50_000]}
					if n, err := bufs.WriteTo(from); n != 50_000 || err != nil || len(bufs) != 0 {
						t.Errorf("net.Buffers: %d, %v, %d are left", n, err, len(bufs))
					}
					if n, err := from.ReadFrom(bytes.NewReader(content[:7])); n != 7 || err != nil {
						t.Errorf("ReadFrom: %d, %v", n, err)
					}
					return from.Close()
				}()
			}()
			out, err := os.Create(filepath.Join(t.TempDir(), "copy"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			n, err := io.Copy(out, to)
			if want := int64(len(content) + 50_007); n != want || err != nil {
				t.Errorf("io.Copy from the connection: %d, %v, want %d", n, err, want)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			got, err := os.ReadFile(out.Name())
			if want := append(append(bytes.Clone(content), content[:50_000]...), content[:7]...); !bytes.Equal(got, want) || err != nil {
				t.Errorf("the copy differs: %d octets, %v", len(got), err)
			}
		})
	}
}

// A copier is a Stream that counts how often a copy uses its ReadFrom, as the operating system's
// has.
type copier struct {
	toe.Stream
	readFrom atomic.Int32
}

func (c *copier) ReadFrom(r io.Reader) (int64, error) {
	c.readFrom.Add(1)
	return io.Copy(struct{ io.Writer }{c.Stream}, r)
}

// A sink is a socket that counts the calls in which the kernel could move the bytes.
type sink struct {
	*net.TCPConn
	direct atomic.Int32
}

func (s *sink) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if _, ok := l.R.(*net.TCPConn); ok {
			s.direct.Add(1)
		}
	}
	return s.TCPConn.ReadFrom(r)
}

// TestCopyInKernel: in TCP mode, io.Copy of a file, or from one socket to another, lets the kernel
// move the bytes. With a capture the bytes go through the program, and bytes that were read ahead
// come first.
func TestCopyInKernel(t *testing.T) {
	name := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(name, []byte("unread MPA octets"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, captured := range []bool{false, true} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c, d := kernelStreams(t)
		p, q := kernelStreams(t)
		x, y := &copier{Stream: a}, &sink{TCPConn: p.(*net.TCPConn)}
		cfg := extsock.Config{}
		if captured {
			cfg.Tap = new(recorder).tap
		}
		prefer := cfg
		prefer.Startup = extsock.StartupPrefer
		from, to, relay := extsock.NewConn(x, true, &cfg), extsock.NewConn(b, false, &prefer), extsock.NewConn(d, false, &prefer)
		if _, err := io.Copy(from, f); err != nil {
			t.Fatal(err)
		}
		from.CloseWrite()
		if _, err := io.Copy(c, to); err != nil { // no descriptor: through the program
			t.Fatal(err)
		}
		c.Close()
		if _, err := io.Copy(y, relay); err != nil {
			t.Fatal(err)
		}
		y.Close()
		if got, err := io.ReadAll(q); err != nil || string(got) != "unread MPA octets" {
			t.Errorf("%q, %v", got, err)
		}
		if n := x.readFrom.Load(); (n > 0) == captured {
			t.Errorf("capture %v: ReadFrom of the stream was used %d times", captured, n)
		}
		if n := y.direct.Load(); (n > 0) == captured && kernel.TellsArrived {
			t.Errorf("capture %v: the kernel moved bytes from socket to socket %d times", captured, n)
		}
		for _, c := range []io.Closer{f, from, to, relay, q} {
			c.Close()
		}
	}
}

// TestConnectionBelow: NetConn, File, SyscallConn and the half-closes, in each mode and over
// streams that do not have them.
func TestConnectionBelow(t *testing.T) {
	a, b := kernelStreams(t)
	plain := extsock.NewConn(a, true, nil)
	defer plain.Close()
	undecided := extsock.NewConn(b, false, &extsock.Config{Startup: extsock.StartupPrefer})
	defer undecided.Close()
	inDDP, _ := tcpPair(t, side{}, side{})
	secure, peer := tlsStreams(t)
	defer peer.Close()
	overTLS := extsock.NewConn(secure, true, nil)
	defer overTLS.Close()
	p, q := net.Pipe()
	defer q.Close()
	pipe := extsock.NewConn(p, true, nil)
	defer pipe.Close()
	for _, tt := range []struct {
		desc          string
		c             *extsock.Conn
		below         net.Conn
		file, syscall bool
	}{
		{"TCP mode", plain, a, true, true},
		{"not known yet", undecided, nil, false, true},
		{"DDP mode", inDDP, nil, false, true},
		{"TLS", overTLS, secure, false, true},
		{"a pipe", pipe, p, false, false},
	} {
		if got := tt.c.NetConn(); got != tt.below {
			t.Errorf("%s: NetConn = %v, want %v", tt.desc, got, tt.below)
		}
		f, err := tt.c.File()
		if tt.file && err == nil {
			f.Close()
		} else if tt.file || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: File = %v", tt.desc, err)
		}
		raw, err := tt.c.SyscallConn()
		if err != nil {
			t.Fatalf("%s: SyscallConn: %v", tt.desc, err)
		}
		if err := raw.Control(func(uintptr) {}); tt.syscall && err != nil || !tt.syscall && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: Control: %v", tt.desc, err)
		}
		called := false
		see := func(uintptr) bool { called = true; return true }
		if err := raw.Read(see); err != nil || !called {
			t.Errorf("%s: Read by SyscallConn = %v, called %t", tt.desc, err, called)
		}
		called = false
		var want error
		switch {
		case tt.c == inDDP:
			want = extsock.ErrMode
		case !tt.syscall:
			want = errors.ErrUnsupported
		}
		if err := raw.Write(see); !errors.Is(err, want) || called != (want == nil) {
			t.Errorf("%s: Write by SyscallConn = %v, called %t", tt.desc, err, called)
		}
		if err := tt.c.SetNoDelay(true); tt.syscall && err != nil {
			t.Errorf("%s: SetNoDelay: %v", tt.desc, err)
		}
	}
	for _, c := range []*extsock.Conn{inDDP, plain, undecided} {
		if err := c.CloseRead(); err != nil {
			t.Errorf("CloseRead = %v", err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read after CloseRead = %d, %v, want io.EOF", n, err)
		}
	}
	if err := pipe.CloseRead(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseRead of a pipe = %v, want ErrUnsupported", err)
	}
	undecided.Close()
}
