package ping

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// If the connection is cut at any point and in any way, both ends report it in time and in one
// line.
func TestCut(t *testing.T) {
	const timeout = 3 * time.Second
	for _, how := range []simtoe.CutHow{simtoe.FIN, simtoe.RST, simtoe.Silence} {
		t.Run(how.String(), func(t *testing.T) {
			// In one ping the client sends 188 octets and the server 240.
			runs, whole := 0, 0 // whole: the cut came after the last byte
			for after := int64(1); after < 260; after += 4 {
				runs++
				synctest.Test(t, func(t *testing.T) {
					socket := extsock.Config{Backend: simtoe.New(simtoe.Config{CutAfter: after, CutHow: how})}
					begin := time.Now()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					_, end := serve(ctx, t, "server:1", &Config{Socket: socket, Timeout: timeout})
					sum, err := Client(t.Context(), "server:1", &Config{Socket: socket, Timeout: timeout, Count: 1, Validate: true})
					if took := time.Since(begin); took > 2*timeout+maxClose {
						t.Errorf("cut after %d bytes: the client ends after %v", after, took)
					}
					switch {
					case (sum.Pings == 1) == (err != nil):
						t.Errorf("cut after %d bytes: %d pings and the error %v", after, sum.Pings, err)
					case err == nil:
						whole++
					case strings.Contains(err.Error(), "\n"):
						t.Errorf("cut after %d bytes: the error is more than a line: %q", after, err)
					}
					time.Sleep(timeout) // in a bubble; a server without a connection must be told to end
					synctest.Wait()
					cancel()
					if serverErr := end(); serverErr != nil && strings.Contains(serverErr.Error(), "\n") {
						t.Errorf("cut after %d bytes: the server's error is more than a line: %q", after, serverErr)
					}
					if took := time.Since(begin); took > 3*timeout+2*maxClose {
						t.Errorf("cut after %d bytes: the server ends after %v", after, took)
					}
				})
			}
			if whole == 0 || whole == runs {
				t.Errorf("%d of %d connections came to their end", whole, runs)
			}
		})
	}
}
