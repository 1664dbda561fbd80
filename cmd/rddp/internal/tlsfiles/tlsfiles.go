package tlsfiles

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

// A Server contains the TLS settings of a server. Identity is required.
type Server struct {
	Identity
	CA     string      // PEM file: the authorities of clients
	Pins   []Pin       // the keys of clients
	Failed func(error) // called with the reason if changed files cannot be loaded; may be nil
}

// Config returns the configuration for all connections of the server.
func (s Server) Config() (*tls.Config, error) {
	l, err := newLoader(s.Identity, s.CA, s.Failed, s.config)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.current(), nil },
	}, nil
}

func (s Server) config(f files) (*tls.Config, error) {
	own, err := s.certificate(f)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*own}, VerifyConnection: pinned(s.Pins),
		// A ticket would replace the check of a certificate by an earlier check with older
		// authorities and pins. Without tickets, each connection is checked with the current ones.
		SessionTicketsDisabled: true,
	}
	switch {
	case s.CA != "":
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
		cfg.ClientCAs, err = authorities(f.ca)
	case len(s.Pins) > 0:
		cfg.ClientAuth = tls.RequireAnyClientCert
	}
	return cfg, err
}

// A Client contains the TLS settings of a client.
type Client struct {
	Identity             // optional: the certificate that the client sends to the server
	CA       string      // PEM file: the authorities of servers; empty means the system's
	Name     string      // the name in the server's certificate; empty means the dialed host
	Pins     []Pin       // the keys of servers
	Failed   func(error) // called with the reason if changed files cannot be loaded; may be nil
}

// Config returns a function that returns the configuration for the next connection.
func (c Client) Config() (func() *tls.Config, error) {
	l, err := newLoader(c.Identity, c.CA, c.Failed, c.config)
	if err != nil {
		return nil, err
	}
	return l.current, nil
}

func (c Client) config(f files) (*tls.Config, error) {
	own, err := c.certificate(f)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: c.Name, VerifyConnection: pinned(c.Pins)}
	if own != nil {
		// With Certificates, the client would send none if the server names other authorities, and
		// then the server could not report the reason.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	cfg.RootCAs, err = authorities(f.ca)
	// A pin identifies the key itself, so no authority is needed.
	cfg.InsecureSkipVerify = len(c.Pins) > 0 && c.CA == "" && c.Name == ""
	return cfg, err
}

// selfLife is the lifetime of a certificate of Self. Peers that know its pin do not check the
// lifetime.
const selfLife = 10 * 365 * 24 * time.Hour

// Self makes a key and a self-signed certificate for it, and returns the certificate and its pin.
func Self() (*tls.Certificate, Pin, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, Pin{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "rddp"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfLife),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, Pin{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, Pin{}, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, PinOf(leaf), nil
}
