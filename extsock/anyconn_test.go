package extsock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// tlsStreams makes a TLS connection over loopback. Its handshake runs by itself.
func tlsStreams(t testing.TB) (client, server net.Conn) {
	t.Helper()
	c, s := tlsConfigs(t)
	a, b := kernelStreams(t)
	return tls.Client(a, c), tls.Server(b, s)
}

// tlsConfigs makes a certificate for a server named peer, and what both ends need to use it.
func tlsConfigs(t testing.TB) (client, server *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"peer"}}
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
