package tlsfiles

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Pin is the SHA-256 hash of a public key (SubjectPublicKeyInfo).
type Pin [sha256.Size]byte

// pinPrefix is the prefix of a pin, as in curl's option --pinnedpubkey.
const pinPrefix = "sha256//"

// PinOf returns the pin of a certificate.
func PinOf(c *x509.Certificate) Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// ParsePin parses a pin in the form that Pin.String returns.
func ParsePin(s string) (p Pin, err error) {
	text, ok := strings.CutPrefix(s, pinPrefix)
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(b) != len(p) {
		return p, fmt.Errorf("%q is not a pin: %s and the hash of a public key in base64", s, pinPrefix)
	}
	return Pin(b), nil
}

func (p Pin) String() string { return pinPrefix + base64.StdEncoding.EncodeToString(p[:]) }

// ErrPin means that the key of the peer's certificate does not match any pin.
var ErrPin = errors.New("the peer has another key than the pin says")

// pinned returns a function for tls.Config.VerifyConnection that checks the peer's key, or nil if
// there are no pins.
func pinned(pins []Pin) func(tls.ConnectionState) error {
	if len(pins) == 0 {
		return nil
	}
	return func(s tls.ConnectionState) error {
		if got := PinOf(s.PeerCertificates[0]); !slices.Contains(pins, got) {
			return fmt.Errorf("%w: %v", ErrPin, got)
		}
		return nil
	}
}
