//go:build unix

package tlsfiles

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestFIFO: a certificate and its key are read from FIFOs only once. Connections do not wait until
// they are written again.
func TestFIFO(t *testing.T) {
	own, _, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fifo := func(name, kind string, der []byte) string {
		name = filepath.Join(dir, name)
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
				t.Error(err)
			}
		}()
		return name
	}
	id := Identity{Cert: fifo("cert", "CERTIFICATE", own.Certificate[0]), Key: fifo("key", "PRIVATE KEY", key)}
	server, err := Server{Identity: id, Failed: func(err error) { t.Error(err) }}.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, err := Client{CA: fifo("ca", "CERTIFICATE", own.Certificate[0])}.Config()
	if err != nil {
		t.Fatal(err)
	}
	loaded := make(chan bool, 1)
	go func() {
		for range 2 {
			if cfg, err := server.GetConfigForClient(nil); err != nil || len(cfg.Certificates) != 1 {
				t.Errorf("the server: %v, %v", cfg, err)
			}
			if client().RootCAs == nil {
				t.Error("the client trusts the authorities of the system")
			}
		}
		loaded <- true
	}()
	prototest.Wait(t, "configurations of two connections", func() bool { return len(loaded) > 0 })
}
