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

// A Server says how a server uses TLS. Identity is required.
type Server struct {
	Identity
	CA     string      // PEM file: the authorities of clients
	Pins   []Pin       // the keys of clients
	Failed func(error) // gets why changed files cannot be loaded; nil ignores that
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
		// A ticket would stand for a certificate that the server has checked with the authorities
		// and pins of that time. Without tickets each connection is checked with those of now.
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

// A Client says how a client uses TLS.
type Client struct {
	Identity             // optional: what the client shows to the server
	CA       string      // PEM file: the authorities of servers; empty means those of the system
	Name     string      // the name in the server's certificate; empty means the host that is dialed
	Pins     []Pin       // the keys of servers
	Failed   func(error) // gets why changed files cannot be loaded; nil ignores that
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
		// Certificates would send none if the server names other authorities, and then the server
		// could not say what is wrong.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	cfg.RootCAs, err = authorities(f.ca)
	// A pin names the key itself, so no authority has to confirm it.
	cfg.InsecureSkipVerify = len(c.Pins) > 0 && c.CA == "" && c.Name == ""
	return cfg, err
}

// selfLife is the life of a certificate of Self. Peers that know its pin do not look at it.
const selfLife = 10 * 365 * 24 * time.Hour

// Self makes a key and a certificate for it.
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
