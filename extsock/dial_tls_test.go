package extsock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestDialTLSSilentPeer: a server that accepts and says nothing does not keep Dial for ever,
// whatever Config.Startup is and without a context or Timeout of the program's: a TLS handshake has
// 10 s.
func TestDialTLSSilentPeer(t *testing.T) {
	for _, startup := range []extsock.Startup{extsock.StartupOff, extsock.StartupPrefer, extsock.StartupRequire} {
		bubble(t, func(t *testing.T) {
			network := simtoe.New(simtoe.Config{})
			l, err := network.Listen(t.Context(), "tcp", "server:1")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					t.Cleanup(func() { c.Close() })
				}
			}()
			result := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begin := time.Now()
			go func() {
				d := &extsock.Dialer{Config: &extsock.Config{
					Backend: network, Startup: startup, TLS: &tls.Config{ServerName: "server"},
				}}
				c, err := d.DialContext(ctx, "tcp", "server:1")
				if c != nil {
					c.Close()
				}
				result <- err
			}()
			select {
			case err := <-result:
				if took := time.Since(begin); err == nil || errors.Is(err, context.Canceled) || took > 11*time.Second {
					t.Errorf("startup %d: Dial = %v after %v", startup, err, took)
				}
			case <-time.After(time.Hour):
				t.Errorf("startup %d: Dial waits for ever", startup)
				cancel()
				<-result
			}
			settle()
		})
	}
}
