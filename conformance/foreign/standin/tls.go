package standin

import (
	"context"
	"crypto/tls"
	"net"
)

// A TLSDialer takes the place of tls.Dialer: its TCP connections are those of a Dialer.
type TLSDialer struct {
	NetDialer *Dialer // nil means the zero Dialer
	Config    *tls.Config
}

// TLSDial connects to address and runs the TLS handshake, as tls.Dial does.
func TLSDial(network, address string, config *tls.Config) (*tls.Conn, error) {
	return TLSDialWithDialer(new(Dialer), network, address, config)
}

// TLSDialWithDialer is TLSDial with a Dialer, whose time limits include the handshake.
func TLSDialWithDialer(d *Dialer, network, address string, config *tls.Config) (*tls.Conn, error) {
	return dialTLS(context.Background(), d, network, address, config)
}

// Dial is DialContext without a context.
func (d *TLSDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext connects to address and runs the TLS handshake, as tls.Dialer.DialContext does. The
// connection is a *tls.Conn.
func (d *TLSDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	below := d.NetDialer
	if below == nil {
		below = new(Dialer)
	}
	c, err := dialTLS(ctx, below, network, address, d.Config)
	if err != nil {
		return nil, err // and not a nil *tls.Conn in an interface
	}
	return c, nil
}

func dialTLS(ctx context.Context, d *Dialer, network, address string, config *tls.Config) (*tls.Conn, error) {
	if d.Timeout != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	if !d.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.Deadline)
		defer cancel()
	}
	below, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	switch {
	case config == nil:
		config = &tls.Config{ServerName: hostOf(address)}
	case config.ServerName == "":
		config = config.Clone()
		config.ServerName = hostOf(address)
	}
	c := tls.Client(below, config)
	if err := c.HandshakeContext(ctx); err != nil {
		below.Close()
		return nil, err
	}
	return c, nil
}

// hostOf returns the part of an address before the port, which is the name to verify.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// TLSListen listens at address for TLS connections, as tls.Listen does.
func TLSListen(network, address string, config *tls.Config) (net.Listener, error) {
	if config == nil || len(config.Certificates) == 0 && config.GetCertificate == nil && config.GetConfigForClient == nil {
		return tls.Listen(network, address, config) // it refuses to listen without a certificate
	}
	l, err := Listen(network, address)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(l, config), nil
}
