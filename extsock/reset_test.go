package extsock_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// opNamed reports whether err is target in a *net.OpError of that operation and of network tcp.
func opNamed(err error, op string, target error) bool {
	e, ok := err.(*net.OpError) //nolint:errorlint // as programs do it
	return ok && e.Op == op && (e.Net == "tcp" || on.device != nil) && errors.Is(err, target)
}

// resetPairs make the connections of these tests, over the operating system's TCP.
var resetPairs = map[string]func(t *testing.T) (a, b *extsock.Conn){
	"byte stream": func(t *testing.T) (a, b *extsock.Conn) { return tcpPair(t, side{}, side{}) },
	"messages":    func(t *testing.T) (a, b *extsock.Conn) { return tcpPair(t, inMessages, inMessages) },
	"TLS": func(t *testing.T) (a, b *extsock.Conn) {
		x, y := tlsStreams(t)
		return switched(t, x, y, side{}, side{})
	},
	"plain, first octets looked at": func(t *testing.T) (a, b *extsock.Conn) {
		x, y := kernelStreams(t)
		return extsock.NewConn(x, true, nil), extsock.NewConn(y, false, &extsock.Config{Startup: extsock.StartupPrefer})
	},
}

// TestCloseWithUnreadData: Close with unread data resets the connection, as over TCP. The peer's
// program learns that what it has written is lost.
func TestCloseWithUnreadData(t *testing.T) {
	for desc, pair := range resetPairs {
		t.Run(desc, func(t *testing.T) { closeWithUnreadData(t, pair) })
	}
}

func closeWithUnreadData(t *testing.T, pair func(t *testing.T) (a, b *extsock.Conn)) {
	a, b := pair(t)
	defer a.Close()
	if _, err := a.Write([]byte("important")); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if n, err := a.Read(make([]byte, 1)); n != 0 || !opNamed(err, "read", syscall.ECONNRESET) {
		t.Errorf("the peer's Read = %d, %v, want ECONNRESET", n, err)
	}
	for range 2 {
		if _, err := a.Write([]byte("x")); !opNamed(err, "write", syscall.EPIPE) {
			t.Errorf("the peer's Write behind it = %v, want EPIPE", err)
		}
	}
}

// TestWriteMeetsTheReset: the Write that is under way returns ECONNRESET, and the error names the
// operation write.
func TestWriteMeetsTheReset(t *testing.T) {
	for _, desc := range []string{"byte stream", "messages"} {
		t.Run(desc, func(t *testing.T) {
			a, b := resetPairs[desc](t)
			written := make(chan error)
			go func() {
				for {
					if _, err := a.Write(make([]byte, 60_000)); err != nil {
						written <- err
						return
					}
				}
			}()
			if _, err := b.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			b.Close()
			if err := <-written; !opNamed(err, "write", syscall.ECONNRESET) && !opNamed(err, "write", syscall.EPIPE) {
				t.Errorf("Write = %v, want ECONNRESET or, where the system has told another call, EPIPE", err)
			}
		})
	}
}

// TestCloseWithAllRead: Close after everything has been read is an orderly end, however much has
// come before.
func TestCloseWithAllRead(t *testing.T) {
	for desc, pair := range resetPairs {
		t.Run(desc, func(t *testing.T) {
			a, b := pair(t)
			defer a.Close()
			if _, err := a.Write(make([]byte, 5000)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(b, make([]byte, 5000)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Write([]byte("answer")); err != nil {
				t.Fatal(err)
			}
			b.Close()
			if _, err := io.ReadFull(a, make([]byte, 6)); err != nil {
				t.Error(err)
			}
			if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("Read = %d, %v, want io.EOF", n, err)
			}
		})
	}
}

// closeReadKeepsWhatHasCome: as over TCP, CloseRead leaves what has arrived to Reads, and a Close
// after that resets nothing.
func closeReadKeepsWhatHasCome(t *testing.T, pair func(t *testing.T) (a, b *extsock.Conn)) {
	a, b := pair(t)
	defer a.Close()
	if _, err := a.Write([]byte("important")); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Read(make([]byte, 1)); n != 1 || err != nil { // the rest has arrived, too
		t.Fatalf("Read = %d, %v", n, err)
	}
	if err := b.CloseRead(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b); string(got) != "mportant" || err != nil {
		t.Errorf("ReadAll after CloseRead = %q, %v", got, err)
	}
	b.Close()
	if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the peer's Read = %d, %v, want io.EOF", n, err)
	}
}

func TestCloseReadKeepsWhatHasCome(t *testing.T) {
	for desc, pair := range resetPairs {
		t.Run(desc, func(t *testing.T) { closeReadKeepsWhatHasCome(t, pair) })
	}
}

// TestCloseReadInDDPMode: after CloseRead, Reads end, later data does not hold up the peer's
// Writes, and Close resets the connection because data is lost.
func TestCloseReadInDDPMode(t *testing.T) {
	for _, s := range []side{{}, inMessages} {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprintf("messages %t, a Read waits %t", s.cfg.Messages, waits), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					a, b := simPair(t, simtoe.Config{}, s, s)
					if _, err := a.Write([]byte("before")); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					p := make([]byte, 10)
					if waits {
						if n, err := b.Read(p); string(p[:n]) != "before" || err != nil {
							t.Fatalf("Read = %q, %v", p[:n], err)
						}
					}
					ended := make(chan error)
					if waits {
						go func() { _, err := b.Read(p); ended <- err }()
						synctest.Wait()
					}
					if err := b.CloseRead(); err != nil {
						t.Fatalf("CloseRead = %v", err)
					}
					if waits {
						if err := <-ended; err != io.EOF {
							t.Errorf("the Read under way = %v, want io.EOF", err)
						}
					} else if n, err := b.Read(p); string(p[:n]) != "before" || err != nil { // had come
						t.Errorf("Read = %q, %v", p[:n], err)
					}
					if n, err := b.Read(p); n != 0 || err != io.EOF {
						t.Errorf("Read = %d, %v, want io.EOF", n, err)
					}
					for range 200 { // more than the peer has credits and buffers for
						if _, err := a.Write(make([]byte, 60_000)); err != nil {
							t.Fatalf("the peer's Write = %v", err)
						}
					}
					if _, err := b.Write([]byte("the other way is open")); err != nil {
						t.Error(err)
					}
					if _, err := io.ReadFull(a, make([]byte, 21)); err != nil {
						t.Error(err)
					}
					b.Close()
					if n, err := a.Read(p); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("the peer's Read = %d, %v, want ECONNRESET", n, err)
					}
					a.Close()
					settle()
				})
			})
		}
	}
}

// TestCloseReadEmptiesTheWay: in message mode so much is unread that the connection has stopped
// reading from TCP. After CloseRead, the messages that wait there are discarded, and what is behind
// them gets through. What was unread before can still be read.
func TestCloseReadEmptiesTheWay(t *testing.T) {
	alone(t)
	for _, limit := range []int64{0, extsock.DefaultMemory} {
		bubble(t, func(t *testing.T) {
			limitMemory(t, limit)
			s := inMessages
			s.cfg.RecvDepth = 4
			ci, cr := simPair(t, simtoe.Config{}, s, s)
			h := register(t, ci, make([]byte, 8), ddp.RemoteRead).Handle()
			for range 6 {
				if _, err := ci.Write(make([]byte, 40_000)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			if err := cr.CloseRead(); err != nil {
				t.Fatal(err)
			}
			cr.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := cr.Remote(h).ReadAt(make([]byte, 8), 0); err != nil {
				t.Errorf("limit %d: ReadAt behind messages that are thrown away: %v", limit, err)
			}
			n := 0
			for {
				k, err := cr.Read(make([]byte, 40_000))
				if err != nil {
					if err != io.EOF {
						t.Errorf("limit %d: Read = %v", limit, err)
					}
					break
				}
				n += k
			}
			if n < 40_000 || n > 160_000 {
				t.Errorf("limit %d: %d octets were unread before CloseRead", limit, n)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// TestCloseReadOfAnotherOwner: if the application posts the receive buffers, CloseRead is not
// supported.
func TestCloseReadOfAnotherOwner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, _ := simPair(t, simtoe.Config{}, postRecvs(extsock.Config{}, 1, 100), side{})
		if err := a.CloseRead(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("CloseRead = %v, want ErrUnsupported", err)
		}
	})
}

// TestResetOverridesEPIPE: a Write that finds a reset connection before the reset is read does not
// hide it from Read.
func TestResetOverridesEPIPE(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simPair(t, simtoe.Config{Delay: time.Second}, side{}, side{})
		b.SetLinger(0)
		b.Close()
		_, _ = a.Write([]byte("x"))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read = %v, want ECONNRESET", err)
		}
		if _, err := a.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the next Read = %v, want io.EOF", err)
		}
		a.Close()
		settle()
	})
}

// TestErrorsNameTheCallersOperation: an error that receiving has found becomes the error of a
// Write, and names the operation write.
func TestErrorsNameTheCallersOperation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simPair(t, simtoe.Config{}, side{}, side{})
		b.SetLinger(0)
		b.Close()
		synctest.Wait()
		for i, want := range []error{syscall.ECONNRESET, syscall.EPIPE} {
			_, err := a.Write([]byte("x"))
			if e := (*net.OpError)(nil); !errors.Is(err, want) || !errors.As(err, &e) || e.Op != "write" || errors.As(e.Err, &e) {
				t.Errorf("Write %d = %v, want %v of write, and of nothing else", i, err, want)
			}
		}
		a.Close()
		settle()
	})
}

// TestListenerOfTLS: if NewListener gets a listener of package tls, its connections behave like
// those of NewConn: they have the settings of the TCP below, and Close with unread data resets it.
func TestListenerOfTLS(t *testing.T) {
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, server := tlsConfigs(t)
	l := extsock.NewListener(tls.NewListener(below, server), &extsock.Config{Startup: extsock.StartupRequire})
	defer l.Close()
	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: extsock.StartupRequire, TLS: client})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x, err := acceptConn(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.SetNoDelay(true); err != nil {
		t.Errorf("SetNoDelay = %v", err)
	}
	if _, err := c.Write([]byte("important")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	x.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer's Read = %d, %v, want ECONNRESET", n, err)
	}
}

// TestListenWithoutCertificate: like tls.Listen, Listen refuses a configuration with which no
// handshake can succeed.
func TestListenWithoutCertificate(t *testing.T) {
	for desc, tt := range map[string]struct {
		config *tls.Config
		ok     bool
	}{
		"nothing":              {new(tls.Config), false},
		"a function":           {&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }}, true},
		"a function for each":  {&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }}, true},
		"an empty certificate": {&tls.Config{Certificates: make([]tls.Certificate, 1)}, true}, // its error is that of the handshake
	} {
		l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: tt.config})
		if ok := err == nil; ok != tt.ok {
			t.Errorf("%s: %v", desc, err)
		}
		if err == nil {
			l.Close()
		}
	}
}

// TestCloseReadBehindARead: CloseRead also leaves to Reads the rest of a message that is still in
// the receive buffer, because an earlier Read had no room for it.
func TestCloseReadBehindARead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simPair(t, simtoe.Config{}, side{}, side{})
		read := make(chan error)
		go func() {
			_, err := io.ReadFull(b, make([]byte, 1))
			read <- errors.Join(err, b.CloseRead())
		}()
		synctest.Wait() // the Read receives by itself
		if _, err := a.Write([]byte("important")); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(b); string(got) != "mportant" || err != nil {
			t.Errorf("ReadAll after CloseRead = %q, %v", got, err)
		}
		b.Close()
		if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("the peer's Read = %d, %v, want io.EOF", n, err)
		}
		a.Close()
		settle()
	})
}
