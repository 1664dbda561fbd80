//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/verbs"
)

func init() { programs["socket"] = socketProgram }

// socketProgram has two extended sockets on the device talk to each other.
func socketProgram([]string) (err error) {
	before := goleak.IgnoreCurrent()
	b := new(verbs.Backend)
	if err := runSockets(b); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := b.Close(); err != nil {
		return err
	}
	return goleak.Find(before)
}

func runSockets(b *verbs.Backend) error {
	cfg := &extsock.Config{Startup: extsock.StartupRequire, Backend: b, PrivateData: []byte("hello")}
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		return err
	}
	defer l.Close()
	for range 3 {
		client, server, err := connectSockets(l, cfg)
		if err != nil {
			return err
		}
		if err := errors.Join(stream(client, server), stream(server, client), endSockets(client, server)); err != nil {
			return err
		}
	}
	return nil
}

// connectSockets returns the two ends of a connection through l, both of them on the device.
func connectSockets(l *extsock.Listener, cfg *extsock.Config) (client, server *extsock.Conn, err error) {
	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		return nil, nil, err
	}
	s, err := l.AcceptDDP()
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	for _, end := range []*extsock.Conn{c, s} {
		if st := end.ConnectionState(); !st.ByteStream || st.Device == "" || !bytes.HasPrefix(st.PeerPrivateData, []byte("hello")) {
			return nil, nil, fmt.Errorf("state %+v", st)
		}
	}
	return c, s, nil
}

// stream writes bytes at one end and compares them at the other one.
func stream(from, to io.ReadWriter) error {
	const n = 5 << 20
	wrote := make(chan error, 1)
	sums := [2][sha256.Size]byte{}
	sent := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(sent) // it never fails
	sums[0] = sha256.Sum256(sent)
	go func() {
		for at, k := 0, 1; at < n; k = k*3%100_003 + 1 {
			end := min(at+k, n)
			if m, err := from.Write(sent[at:end]); m != end-at || err != nil {
				wrote <- fmt.Errorf("Write of %d bytes at %d = %d, %w", end-at, at, m, err)
				return
			}
			at = end
		}
		wrote <- nil
	}()
	got := make([]byte, n)
	_, err := io.ReadFull(to, got)
	sums[1] = sha256.Sum256(got)
	if err := errors.Join(err, <-wrote); err != nil {
		return err
	}
	if sums[0] != sums[1] {
		return errors.New("the bytes differ")
	}
	return nil
}

// endSockets closes one end, and then the other one, which sees the end.
func endSockets(a, b *extsock.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), clientLimit)
	defer cancel()
	if _, err := a.Write([]byte("bye")); err != nil {
		return err
	}
	if err := a.Close(); err != nil {
		return err
	}
	if got, err := io.ReadAll(b); string(got) != "bye" || err != nil {
		return fmt.Errorf("the last words are %q, %w", got, err)
	}
	return errors.Join(b.Close(), a.Wait(ctx), b.Wait(ctx))
}

// TestSockets runs the two ends of extended sockets on either kind of device.
func TestSockets(t *testing.T) {
	for _, kind := range []string{supervise, superviseIWARP} {
		t.Run(kind, func(t *testing.T) {
			c := under(performance(t, "socket")...)
			c.Args[0] = kind
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
}
