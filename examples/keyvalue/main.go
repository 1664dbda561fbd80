// Command keyvalue runs a key-value store whose GETs are one-sided, with two clients, over TLS. A
// SET is a message to the server. A GET is an RDMA Read of the server's table. The server's program
// takes no part in it: it parses no request and wakes no goroutine. Then the server stops, and
// another one takes its place. The clients notice, dial again, and have no error.
//
//	go run ./examples/keyvalue
//	go build ./examples/keyvalue && rddp run ./keyvalue -device
//
// With -device the store is on an RDMA device, which answers the GETs. There is no TLS on a device.
//
// The store itself is package examples/kvcache. Its documentation explains the guarantees of such a
// Read, and how a reader recognizes a complete entry.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/examples/kvcache"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/verbs"
)

func main() {
	log.SetFlags(0)
	device := flag.Bool("device", false, "on an RDMA device, instead of over TLS")
	flag.Parse()
	cfg, err := newConfig(*device)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout, cfg); err != nil {
		log.Fatal(err)
	}
}

// newConfig returns the configuration of both ends.
func newConfig(device bool) (*extsock.Config, error) {
	if device {
		return &extsock.Config{Backend: new(verbs.Backend)}, nil
	}
	config, err := newTLS()
	return &extsock.Config{TLS: config}, err
}

// run starts a server, sets values with one client, and gets them with another, also from the
// server that follows.
func run(ctx context.Context, out io.Writer, config *extsock.Config) error {
	server, address, err := serve("127.0.0.1:0", config)
	if err != nil {
		return err
	}
	defer server.Close()

	alice, err := kvcache.Dial(ctx, address, config)
	if err != nil {
		return err
	}
	defer alice.Close()
	bob, err := kvcache.Dial(ctx, address, config)
	if err != nil {
		return err
	}
	defer bob.Close()

	for _, color := range []string{"green", "blue"} {
		if err := alice.Set(ctx, "color", []byte(color)); err != nil { // a message, and its answer
			return err
		}
		value, err := bob.Get(ctx, "color") // an RDMA Read
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "alice has set %s, and bob reads %s\n", color, value)
	}

	if err := server.Shutdown(ctx); err != nil { // when both clients have gone
		return err
	}
	next, _, err := serve(address, config)
	if err != nil {
		return err
	}
	defer next.Close()
	if err := next.Set("color", []byte("red")); err != nil {
		return err
	}
	value, err := bob.Get(ctx, "color") // dials again
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the server has stopped, the next one has set red, and bob reads %s\n", value)

	if config.TLS == nil {
		return nil
	}
	// The server refuses a client without TLS, or without a certificate that it trusts.
	if c, err := kvcache.Dial(ctx, address, nil); err == nil {
		c.Close()
		return fmt.Errorf("a client without TLS was served")
	}
	fmt.Fprintln(out, "a client without TLS is refused")
	return nil
}

// serve starts a server.
func serve(address string, config *extsock.Config) (s *kvcache.Server, at string, err error) {
	s, err = kvcache.NewServer(1024, config)
	if err != nil {
		return nil, "", err
	}
	l, err := s.Listen(address)
	if err != nil {
		s.Close()
		return nil, "", err
	}
	go s.Serve(l)
	return s, l.Addr().String(), nil
}

// newTLS returns a configuration for both ends. They have the same new certificate and trust no
// other, so only a client with its key can connect. A real service has separate certificates for
// the server and for each client, and loads them with tls.LoadX509KeyPair.
func newTLS() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, // the name that clients dial
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      trusted, // whom clients trust
		ClientCAs:    trusted, // whom the server trusts
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}, nil
}
