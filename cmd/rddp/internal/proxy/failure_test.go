package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
	"github.com/rddp/rddp/mpa"
)

// dialDDP connects to an exit.
func (r *running) dialDDP(t *testing.T) *extsock.Conn {
	t.Helper()
	c, err := extsock.Dial("tcp", r.Addr().Address, &extsock.Config{Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(prototest.Deadline(t))
	return c
}

// dialInVain connects to a Proxy that resets the connection; the dial itself may fail with that.
func (r *running) dialInVain(t *testing.T) {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr().Address)
	if err == nil {
		defer c.Close()
		c.SetDeadline(prototest.Deadline(t))
		_, err = c.Read(make([]byte, 1))
	}
	if !isReset(err) {
		t.Errorf("%v, want a reset", err)
	}
}

// isReset reports whether a connection was reset.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// told checks the error in the Summary of the next connection that ends.
func told(t *testing.T, r *running, want string) Summary {
	t.Helper()
	s := r.next(t)
	if s.Err == nil || !strings.Contains(s.Err.Error(), want) || strings.Contains(s.Err.Error(), "\n") {
		t.Errorf("told %v, want %q in it", s, want)
	}
	return s
}

func TestNoService(t *testing.T) {
	entrance, exit := tunnel(t, prototest.ClosedPort(t), Config{})
	entrance.dialInVain(t)
	told(t, exit, "connecting to the service: connection refused")
	s := told(t, entrance, `connecting to the exit: the peer rejected the connection and says "connecting to the service: connection refused"`)
	if reject := (*mpa.RejectError)(nil); !errors.As(s.Err, &reject) {
		t.Errorf("error %#v, want a rejection", s.Err)
	}
}

func TestNoExit(t *testing.T) {
	to := prototest.ClosedPort(t)
	entrance := start(t, "127.0.0.1:0", "rddp://"+to, Config{})
	entrance.dialInVain(t)
	if s := told(t, entrance, "connecting to the exit: connection refused"); s.To != "rddp://"+to {
		t.Errorf("told %v", s)
	}
}

// The error of an entrance says if its target is not an exit, whatever the target does.
func TestExitWithoutMPA(t *testing.T) {
	tests := []struct {
		desc    string
		exit    func(c *net.TCPConn)
		timeout time.Duration
		want    string
	}{
		{"answers in its own protocol", func(c *net.TCPConn) {
			c.Read(make([]byte, 1)) // otherwise it speaks first
			c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			io.Copy(io.Discard, c)
		}, prototest.Patience(t), `the peer does not speak MPA: what it sent is no MPA frame`},
		{"closes", func(c *net.TCPConn) { c.Read(make([]byte, 100)) }, prototest.Patience(t), "the peer closed the connection without an MPA Reply"},
		{"is silent", func(c *net.TCPConn) { io.Copy(io.Discard, c) }, 100 * time.Millisecond, "connecting to the exit: no answer in time"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			entrance := start(t, "127.0.0.1:0", "rddp://"+tcptest.Serve(t, tt.exit), Config{Timeout: tt.timeout})
			entrance.dialInVain(t)
			told(t, entrance, tt.want)
		})
	}
}

// A plain client at the exit does not get through, and does not disturb others.
func TestPlainClientAtExit(t *testing.T) {
	entrance, exit := tunnel(t, tcptest.Serve(t, tcptest.Echo), Config{Timeout: prototest.Patience(t)})
	exit.dial(t).Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	told(t, exit, "MPA startup with the entrance: the peer does not speak MPA")
	works(t, entrance)
	orderly(t, entrance, exit)
}

// An exit gives up a silent client.
func TestSilentClientAtExit(t *testing.T) {
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{Timeout: 100 * time.Millisecond})
	exit.dial(t)
	told(t, exit, "MPA startup with the entrance: no answer in time")
}

// works sends something through an entrance to an echo.
func works(t *testing.T, entrance *running) {
	t.Helper()
	c := entrance.dial(t)
	io.WriteString(c, "works")
	c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "works" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A reset on one side becomes a reset on the other. All or part of the bytes before it arrive, but
// no orderly end.
func TestReset(t *testing.T) {
	data := random(1, 100_000)
	ends := func(c net.Conn) ([]byte, error) {
		var got bytes.Buffer
		_, err := io.Copy(&got, struct{ io.Reader }{c})
		return got.Bytes(), err
	}
	check := func(t *testing.T, got []byte, err error) {
		t.Helper()
		if !isReset(err) || !bytes.HasPrefix(data, got) {
			t.Errorf("got %d bytes, the right ones: %v, and %v; want a reset", len(got), bytes.HasPrefix(data, got), err)
		}
	}
	t.Run("by the client", func(t *testing.T) {
		type result struct {
			got []byte
			err error
		}
		results := make(chan result, 1)
		entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
			io.WriteString(c, "go")
			got, err := ends(c)
			results <- result{got, err}
		}), Config{})
		c := entrance.dial(t)
		io.ReadFull(c, make([]byte, 2))
		c.Write(data)
		c.SetLinger(0)
		c.Close()
		r := <-results
		check(t, r.got, r.err)
		told(t, entrance, "the client: ")
		told(t, exit, "the entrance: ")
	})
	t.Run("by the service", func(t *testing.T) {
		entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
			io.ReadFull(c, make([]byte, 2)) // otherwise the dial itself may fail with the reset
			c.Write(data)
			c.SetLinger(0)
		}), Config{})
		c := entrance.dial(t)
		io.WriteString(c, "go")
		got, err := ends(c)
		check(t, got, err)
		told(t, entrance, "the exit: the peer ended the connection early")
		told(t, exit, "the service: ")
	})
	t.Run("by the service, after its end", func(t *testing.T) {
		entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
			c.CloseWrite()
			io.ReadFull(c, make([]byte, 10))
			c.SetLinger(0)
		}), Config{})
		c := entrance.dial(t)
		if n, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read %d bytes, %v, want the end", n, err)
		}
		var err error
		for err == nil {
			_, err = c.Write(data)
		}
		if !isReset(err) {
			t.Errorf("write: %v, want a reset", err)
		}
		told(t, entrance, "the exit: ")
		told(t, exit, "the service: ")
	})
}

// A service that closes with unread bytes resets the connection, and the kernel reports that only
// to the first Read or Write. The entrance never sees an orderly end. (The entrance is extsock
// itself here, because a plain client has the same problem.)
func TestNoFalseEnd(t *testing.T) {
	const answer = "no more, please"
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, func(c *net.TCPConn) {
		io.ReadFull(c, make([]byte, 1000))
		io.WriteString(c, answer)
	}), Config{})
	data := make([]byte, 64<<10)
	whole := 0
	for i := range 200 {
		c := exit.dialDDP(t)
		writer := make(chan error)
		go func() {
			var err error
			for err == nil {
				_, err = c.Write(data)
			}
			writer <- err
		}()
		got, err := io.ReadAll(c)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(answer, string(got)) {
			t.Errorf("connection %d: got %q and %v, want a failure", i, got, err)
		}
		if string(got) == answer {
			whole++
		}
		<-writer
		c.Close()
		if s := exit.next(t); s.Err == nil {
			t.Errorf("connection %d: told %v", i, s)
		}
	}
	t.Logf("the whole answer came %d times of 200", whole)
}

// The byte stream between the proxies has an end mark. Without the mark, the end of a connection is
// not orderly, even if TCP has sent a FIN.
func TestEntranceVanishes(t *testing.T) {
	results := make(chan error, 1)
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, func(c *net.TCPConn) {
		_, err := io.Copy(io.Discard, struct{ io.Reader }{c})
		results <- err
	}), Config{})
	c, err := net.Dial("tcp", exit.Addr().Address)
	if err != nil {
		t.Fatal(err)
	}
	conn := extsock.NewConn(c, true, nil)
	defer conn.Close()
	if err := conn.EnableDDP(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("half a")); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite()
	if err := <-results; !isReset(err) {
		t.Errorf("the service saw %v, want a reset", err)
	}
	told(t, exit, "reading from the entrance: the peer ended the connection early")
}

// A program that uses extsock itself may take the place of a proxy.
func TestNativePeers(t *testing.T) {
	t.Run("exit", func(t *testing.T) {
		l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: extsock.StartupRequire})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if c, err := l.Accept(); err == nil {
				io.Copy(c, c)
				c.Close()
			}
		}()
		entrance := start(t, "127.0.0.1:0", "rddp://"+l.Addr().String(), Config{})
		works(t, entrance)
		orderly(t, entrance)
		<-done
	})
	t.Run("entrance", func(t *testing.T) {
		exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
		c := exit.dialDDP(t)
		io.WriteString(c, "works")
		c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || string(got) != "works" {
			t.Errorf("got %q, %v", got, err)
		}
		orderly(t, exit)
	})
}

// At the end of Serve, an open connection may end by itself within the grace period.
func TestGrace(t *testing.T) {
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
	entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{Grace: prototest.Patience(t)})
	c := entrance.dial(t)
	b := make([]byte, 1)
	c.Write(b)
	io.ReadFull(c, b)
	entrance.interrupt()
	awaitRefusal(t, entrance)
	c.Write([]byte("more"))
	c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "more" {
		t.Errorf("got %q, %v", got, err)
	}
	orderly(t, entrance, exit)
}

// awaitRefusal waits until a Proxy no longer listens.
func awaitRefusal(t *testing.T, r *running) {
	t.Helper()
	prototest.Wait(t, "the proxy does not listen any more", func() bool {
		c, err := net.Dial("tcp", r.Addr().Address)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

// After the grace period, a connection is reset on both sides.
func TestGraceIsOver(t *testing.T) {
	for _, part := range []string{"entrance", "exit"} {
		t.Run(part, func(t *testing.T) {
			end := make(chan error, 1)
			entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
				_, err := io.Copy(c, struct{ io.Reader }{c})
				end <- err
			}), Config{Grace: 100 * time.Millisecond})
			c := entrance.dial(t)
			b := make([]byte, 1)
			c.Write(b)
			io.ReadFull(c, b)
			interrupted, other := entrance, exit
			if part == "exit" {
				interrupted, other = exit, entrance
			}
			interrupted.interrupt()
			if n, err := c.Read(b); !isReset(err) {
				t.Errorf("read %d bytes, %v, want a reset", n, err)
			}
			if err := <-end; !isReset(err) {
				t.Errorf("the service: %v, want a reset", err)
			}
			if s := told(t, interrupted, "the proxy ends"); !errors.Is(s.Err, ErrGrace) {
				t.Errorf("told %v", s)
			}
			told(t, other, "the peer ended the connection early")
		})
	}
}

// A proxy that must end does not wait for the answer of the other proxy.
func TestGraceInStartup(t *testing.T) {
	entrance := start(t, "127.0.0.1:0", "rddp://"+tcptest.Serve(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) }), Config{Timeout: prototest.Patience(t)})
	exit := start(t, "rddp://127.0.0.1:0", prototest.ClosedPort(t), Config{Timeout: prototest.Patience(t)})
	for _, r := range []*running{entrance, exit} {
		c := r.dial(t)
		prototest.Wait(t, "a connection", func() bool { return r.Stats().Open > 0 })
		r.interrupt()
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("read %d bytes", n)
		}
		told(t, r, "the proxy ends")
	}
}
