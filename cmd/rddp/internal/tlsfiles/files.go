package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"

	"github.com/rddp/rddp/internal/locks"
)

// A source is the content of a file. An empty name means no file, which is not an error.
type source struct {
	name string
	data []byte
	err  error
}

func readSource(name string) (s source) {
	s.name = name
	if name != "" {
		s.data, s.err = os.ReadFile(name)
	}
	return s
}

// again reads the file again. It returns s for a file that is not regular, such as a FIFO, which
// yields its content only once and may block readers.
func (s source) again() source {
	if info, err := os.Stat(s.name); err == nil && !info.Mode().IsRegular() {
		return s
	}
	return readSource(s.name)
}

func (s source) equal(o source) bool {
	return (s.err == nil) == (o.err == nil) && bytes.Equal(s.data, o.data)
}

// files are the inputs of a configuration.
type files struct{ cert, key, ca source }

// A loader makes a tls.Config from files, and makes it again when the content of one has changed.
// It reads them for each connection, because they are small, and because a file's content can
// change without its modification time.
type loader struct {
	names  [3]string
	config func(files) (*tls.Config, error)
	failed func(error) // called with the error for changed files that cannot be used

	mu locks.Mutex[locks.Leaf]
	// the current configuration
	value *tls.Config // +checklocks:mu
	// the files of the last load
	seen []source // +checklocks:mu
}

// newLoader makes the first configuration.
func newLoader(i Identity, ca string, failed func(error), config func(files) (*tls.Config, error)) (*loader, error) {
	l := &loader{names: [3]string{i.Cert, i.Key, ca}, config: config, failed: failed}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l, l.loadLocked()
}

// loadLocked makes a configuration if the files have changed.
//
// +checklocks:l.mu
func (l *loader) loadLocked() error {
	var now []source
	for i, name := range l.names {
		if l.seen != nil {
			now = append(now, l.seen[i].again())
		} else {
			now = append(now, readSource(name))
		}
	}
	if slices.EqualFunc(now, l.seen, source.equal) {
		return nil
	}
	l.seen = now
	for _, s := range now {
		if s.err != nil {
			return s.err
		}
	}
	value, err := l.config(files{now[0], now[1], now[2]})
	if err == nil {
		l.value = value
	}
	return err
}

// current returns the configuration for the current files, or the last valid one.
func (l *loader) current() *tls.Config {
	value, err := l.load()
	if err != nil && l.failed != nil {
		l.failed(fmt.Errorf("the certificates of before remain in use: %w", err))
	}
	return value
}

func (l *loader) load() (*tls.Config, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.loadLocked()
	return l.value, err
}

// authorities returns the certificates of authorities in s. Without a file it returns nil, which
// means the system's authorities.
func authorities(s source) (*x509.CertPool, error) {
	if s.name == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.data) {
		return nil, fmt.Errorf("%s: no certificate in PEM form", s.name)
	}
	return pool, nil
}

// An Identity is the certificate of this end: the one in the PEM files Cert and Key, or Own.
type Identity struct {
	Cert, Key string
	Own       *tls.Certificate
}

// certificate returns the certificate, or nil if there is none.
func (i *Identity) certificate(f files) (*tls.Certificate, error) {
	if i.Own != nil || i.Cert == "" {
		return i.Own, nil
	}
	c, err := tls.X509KeyPair(f.cert.data, f.key.data)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", i.Cert, i.Key, err)
	}
	return &c, nil
}
