// Package tlshandshake runs TLS handshakes, and explains why one has failed: one end does not use
// TLS, or does not accept the other end's certificate.
//
// If one end uses TLS and the other does not, both can detect that:
//
//	server  client  the server sees       the client sees
//	TLS     plain   no TLS record         an alert, which the server sends for this
//	plain   TLS     a ClientHello         an answer that is no TLS record, or the end of the connection
package tlshandshake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

var (
	// ErrTLS means that the peer uses TLS and this end does not.
	ErrTLS = errors.New("the peer speaks TLS, and this end does not")
	// ErrPlain means that this end uses TLS and the peer does not.
	ErrPlain = errors.New("this end speaks TLS, and the peer does not")
	// ErrSilent means that the peer ended the connection when it got the ClientHello. A server
	// without TLS does that if its protocol, like MPA, has no answer to such bytes.
	ErrSilent = errors.New("this end speaks TLS, and the peer ended the connection instead of answering: it probably speaks no TLS")
	// ErrRefused means that the peer did not accept the certificate of this end.
	ErrRefused = errors.New("the peer refuses this end's certificate")
	// ErrMissing means that this end requires a certificate of the peer, which sent none.
	ErrMissing = errors.New("this end requires a certificate of the peer, which gave none")
	// ErrRequired means that the peer requires a certificate of this end, which sent none.
	ErrRequired = errors.New("the peer requires a certificate of this end")
)

// A Conn is a connection with a TLS handshake: a *tls.Conn, or a type that embeds one.
type Conn interface {
	net.Conn
	HandshakeContext(ctx context.Context) error
}

// The types of the records with which a handshake may begin (RFC 8446 §5.1).
const typeAlert, typeHandshake = 0x15, 0x16

// alert is the record that tells a peer without TLS that this end uses TLS: the fatal alert
// unexpected_message of TLS 1.2 (RFC 5246 §6.2.1 and §7.2).
var alert = []byte{typeAlert, 3, 3, 0, 2, 2, 10}

// alertTime bounds the Write of alert.
const alertTime = time.Second

// Client runs the handshake of a client. The errors of this package say more than those of TLS.
func Client(ctx context.Context, c *tls.Conn) error {
	err := c.HandshakeContext(ctx)
	if isEnd(err) && ctx.Err() == nil && c.ConnectionState().Version == 0 { // there was no ServerHello
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return explainAll(ctx, err)
}

// Server runs the handshake of a server. If the client does not use TLS, Server sends it an alert,
// by which it can detect TLS. Server also runs the handshake of a client, but not as well as Client
// does.
func Server(ctx context.Context, c Conn) error {
	err := c.HandshakeContext(ctx)
	record, plain, below := tls.RecordHeaderError{}, (*plainError)(nil), net.Conn(nil)
	switch {
	case errors.As(err, &plain):
		below = plain.conn
	case errors.As(err, &record):
		below = record.Conn
	}
	if below != nil {
		below.SetWriteDeadline(time.Now().Add(alertTime))
		_, _ = below.Write(alert) // the client may have gone
	}
	return explainAll(ctx, err)
}

// A plainError is an ErrPlain with the peer's first bytes as evidence.
type plainError struct {
	begins []byte
	conn   net.Conn // below TLS
}

func (e *plainError) Error() string { return fmt.Sprintf("%v: it begins %q", ErrPlain, e.begins) }
func (e *plainError) Unwrap() error { return ErrPlain }

// First returns an ErrPlain if the first bytes of the peer, of which there is at least one, can't
// begin a TLS handshake, and are fewer than the header of a record. crypto/tls would wait for the
// rest of the header, which a peer without TLS may never send. The Read of c, the connection below
// TLS, then returns that error.
func First(c net.Conn, first []byte) error {
	const headerLen = 5 // RFC 8446 §5.1
	if len(first) >= headerLen || first[0] == typeAlert || first[0] == typeHandshake {
		return nil
	}
	return &plainError{append([]byte(nil), first...), c}
}

// A handshakeError is an error of a handshake that needs no explanation.
type handshakeError struct{ error }

func (e *handshakeError) Unwrap() error { return e.error }

// explainAll is Explain for the error of a handshake. An error that is neither the end of the
// connection nor of ctx concerns TLS.
func explainAll(ctx context.Context, err error) error {
	explained := Explain(err)
	switch {
	case err == nil || ctx.Err() != nil || isEnd(err):
		return err
	case explained != err: //nolint:errorlint // whether Explain knows it
		return explained
	case strings.HasSuffix(err.Error(), "client didn't provide a certificate"):
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return &handshakeError{err}
}

// isEnd reports whether err means that the peer has ended the connection, or this end has.
func isEnd(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, os.ErrDeadlineExceeded} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// Explain returns an error of this package that wraps err, if there is one. Otherwise it returns
// err. A client of TLS 1.3 learns whether the server accepts its certificate only after the
// handshake, from its first Read.
func Explain(err error) error {
	if err == nil { // without the allocations below
		return nil
	}
	record, op := tls.RecordHeaderError{}, (*net.OpError)(nil)
	switch {
	case errors.As(err, &record) && record.Conn != nil: // the first record
		return fmt.Errorf("%w: it begins %q", ErrPlain, record.RecordHeader[:])
	case !errors.As(err, &op) || op.Op != "remote error": // crypto/tls marks an alert of the peer like this
		return err
	case strings.HasSuffix(op.Err.Error(), "certificate required"):
		return fmt.Errorf("%w: %w", ErrRequired, op.Err)
	case strings.Contains(op.Err.Error(), "certificate"):
		return fmt.Errorf("%w: %w", ErrRefused, op.Err)
	}
	return err
}

// Speaks returns ErrTLS if the first bytes of the peer begin a TLS record of the type handshake or
// alert (RFC 8446 §5.1). Otherwise it returns nil.
func Speaks(first []byte) error {
	if len(first) >= 2 && (first[0] == typeAlert || first[0] == typeHandshake) && first[1] == 3 {
		return ErrTLS
	}
	return nil
}

// Words explains a failure of TLS in one line. It returns "" if err is not one.
func Words(err error) string {
	refused, failed := (*tls.CertificateVerificationError)(nil), (*handshakeError)(nil)
	for _, e := range []error{ErrTLS, ErrPlain, ErrSilent, ErrMissing, ErrRequired, ErrRefused} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	switch {
	case errors.As(err, &refused):
		return "this end refuses the peer's certificate: " + refused.Err.Error()
	case errors.As(err, &failed):
		return failed.Error()
	}
	return ""
}

// A brief is an error with the text of Words.
type brief struct{ error }

func (e *brief) Error() string { return Words(e.error) }
func (e *brief) Unwrap() error { return e.error }

// Brief returns err with the text of Words, if there is one. Otherwise it returns err.
func Brief(err error) error {
	if Words(err) == "" {
		return err
	}
	return &brief{err}
}
