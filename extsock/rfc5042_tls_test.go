package extsock_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// "the read/written data must be encrypted": with Config.TLS, neither MPA nor the data can be read
// between the ends of a connection that was dialed or accepted. Without it all of that can be read
// in both directions, so the test would notice it.
//
// SEC-5042-5.3-1
func TestRFC5042_5_3_ConfigTLSEncrypts(t *testing.T) {
	clientTLS, serverTLS := tlsConfigs(t)
	for _, tt := range []struct {
		desc           string
		client, server *tls.Config
		seen           bool
	}{
		{"TLS", clientTLS, serverTLS, false},
		{"plain", nil, nil, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: tt.server})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			question, answer := pattern(1000, 1), pattern(1000, 2)
			served := make(chan error, 1)
			go func() { served <- answerOnce(t, l, answer) }()
			e := newEavesdropper(t, l.Addr().String())
			c, err := dialConn(timeLimit(t), &extsock.Dialer{Config: &extsock.Config{TLS: tt.client}}, "tcp", e.address())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got := make([]byte, len(answer))
			if err := c.EnableDDP(timeLimit(t), nil); err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(prototest.Deadline(t))
			if _, err := c.Write(question); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, answer) {
				t.Fatalf("the answer is %x, %v", got, err)
			}
			if err := <-served; err != nil {
				t.Fatal(err)
			}
			for what, w := range map[string]struct {
				by     *wiretap
				octets []byte
			}{
				"the Request": {e.up, []byte(mpaKey)}, "the Reply": {e.down, []byte("MPA ID Rep Frame")},
				"the question": {e.up, question}, "the answer": {e.down, answer},
			} {
				w.by.mu.Lock()
				if bytes.Contains(w.by.octets, w.octets) != tt.seen {
					t.Errorf("%s is on the wire: %t", what, !tt.seen)
				}
				w.by.mu.Unlock()
			}
		})
	}
}

// answerOnce accepts one connection and answers 1000 octets on it.
func answerOnce(t *testing.T, l *extsock.Listener, answer []byte) error {
	c, err := acceptConn(l)
	if err != nil {
		return err
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(prototest.Deadline(t))
	if err := c.EnableDDP(timeLimit(t), nil); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
		return err
	}
	_, err = c.Write(answer)
	return err
}

// An eavesdropper relays one connection and keeps what passes by.
type eavesdropper struct {
	net.Listener
	up, down *wiretap
}

// newEavesdropper relays to address until the connection ends.
func newEavesdropper(t *testing.T, address string) *eavesdropper {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &eavesdropper{Listener: l, up: &wiretap{Conn: far}, down: &wiretap{}}
	var relays sync.WaitGroup
	relays.Go(func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		e.down.Conn = near
		relays.Go(func() { io.Copy(struct{ io.Writer }{e.down}, far); near.Close() })
		io.Copy(struct{ io.Writer }{e.up}, near)
		far.Close()
	})
	t.Cleanup(func() { l.Close(); far.Close(); relays.Wait() })
	return e
}

func (e *eavesdropper) address() string { return e.Addr().String() }
