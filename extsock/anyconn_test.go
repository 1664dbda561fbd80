package extsock_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/simtoe"
)

// tlsStreams makes a TLS connection over loopback. Its handshake runs by itself.
func tlsStreams(t testing.TB) (client, server net.Conn) {
	t.Helper()
	c, s := tlsConfigs(t)
	a, b := kernelStreams(t)
	return tls.Client(a, c), tls.Server(b, s)
}

// tlsConfigs makes a certificate for a server named peer or at fe80::1, and the configurations of
// both ends that use it.
func tlsConfigs(t testing.TB) (client, server *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"peer"}, IPAddresses: []net.IP{net.ParseIP("fe80::1")},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return &tls.Config{RootCAs: roots, ServerName: "peer"},
		&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
}

// TestOperationsOverTLS runs every operation with TLS under MPA.
func TestOperationsOverTLS(t *testing.T) {
	client, server := tlsStreams(t)
	ci, cr := switched(t, client, server, postRecvs(extsock.Config{}, 8, 1<<17), postRecvs(extsock.Config{}, 8, 1<<17))
	operations(t, ci, cr, sizes(1448))
	operations(t, cr, ci, sizes(1448))
}

// slowConn is a net.Conn whose Writes take 100 ms each; end is when the last one ended.
type slowConn struct {
	net.Conn
	end atomic.Int64
}

func (c *slowConn) Write(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	n, err := c.Conn.Write(p)
	c.end.Store(time.Now().UnixNano())
	return n, err
}

// TestCloseWaitsForTheSendBuffer: if the process has a send buffer above TCP, Close returns when
// that buffer is empty, in either mode. Otherwise a program that ends after Close would lose what
// it has written.
func TestCloseWaitsForTheSendBuffer(t *testing.T) {
	for _, ddp := range []bool{false, true} {
		t.Run(fmt.Sprintf("DDP mode %t", ddp), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				slow := &slowConn{Conn: struct{ net.Conn }{a}}
				ci := extsock.NewConn(netconn.NewBuffered(slow), true, nil)
				cr := extsock.NewConn(b, false, nil)
				if ddp {
					if err := switchBoth(t.Context(), ci, cr); err != nil {
						t.Fatal(err)
					}
				}
				want := pattern(60_000, 1)
				if _, err := ci.Write(want); err != nil {
					t.Fatal(err)
				}
				read := make(chan error, 1)
				go func() {
					got := make([]byte, len(want))
					_, err := io.ReadFull(cr, got)
					if err == nil && !bytes.Equal(got, want) {
						err = errors.New("not the octets that were written")
					}
					read <- err
				}()
				begin := time.Now()
				if err := ci.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				closed := time.Now()
				if closed.Sub(begin) < 100*time.Millisecond {
					t.Errorf("Close returned after %v, before one Write has ended", closed.Sub(begin))
				}
				if err := <-read; err != nil {
					t.Error(err)
				}
				cr.Close()
				settle()
				if end := time.Unix(0, slow.end.Load()); end.After(closed) {
					t.Errorf("octets went out %v after Close had returned", end.Sub(closed))
				}
			})
		})
	}
}

// TestCloseDoesNotWaitForNobody: after SetLinger(0), Close does not wait for the peer. Without it,
// Close waits until CloseTimeout is over, and says that octets are lost.
func TestCloseDoesNotWaitForNobody(t *testing.T) {
	for _, abortive := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			a, b := net.Pipe()
			c := extsock.NewConn(netconn.NewBuffered(a), true, &extsock.Config{CloseTimeout: 2 * time.Second})
			if _, err := c.Write([]byte("nobody reads this")); err != nil {
				t.Fatal(err)
			}
			if abortive {
				_ = c.SetLinger(0) // a pipe does not have this setting, but Close must heed it
			}
			begin := time.Now()
			err := c.Close()
			if d := time.Since(begin); abortive && (d != 0 || err != nil) || !abortive && (d != 2*time.Second || err == nil) {
				t.Errorf("abortive %t: Close = %v after %v", abortive, err, d)
			}
			b.Close()
			settle()
		})
	}
}

// TestOperationsOverUnix runs every operation over a unix socket.
func TestOperationsOverUnix(t *testing.T) {
	a, b := unixStreams(t)
	ci, cr := switched(t, a, b, postRecvs(extsock.Config{}, 8, 1<<17), postRecvs(extsock.Config{}, 8, 1<<17))
	operations(t, ci, cr, sizes(1448))
	operations(t, cr, ci, sizes(1448))
}

// TestDialUnix: the default backend dials and listens on unix sockets.
func TestDialUnix(t *testing.T) {
	l, err := extsock.Listen("unix", filepath.Join(t.TempDir(), "socket"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ci, err := extsock.Dial("unix", l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ci.Close()
	cr, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer cr.Close()
	if _, err := ci.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 5)
	if _, err := io.ReadFull(cr, p); err != nil || string(p) != "hello" {
		t.Errorf("read %q, %v", p, err)
	}
	if raw, err := ci.SyscallConn(); err != nil || raw == nil {
		t.Errorf("SyscallConn = %v, %v", raw, err)
	}
}
