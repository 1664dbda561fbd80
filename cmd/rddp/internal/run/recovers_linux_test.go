//go:build amd64 || arm64

package run

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/panics"
)

// TestPanicOfLaterAnswer: a panic in a goroutine that answers a call is logged, and ends nothing
// else.
func TestPanicOfLaterAnswer(t *testing.T) {
	for name, later := range map[string]func(*slog.Logger, *seccomp.Program, *seccomp.Call, func()){
		"supervisor": func(l *slog.Logger, p *seccomp.Program, c *seccomp.Call, answer func()) {
			(&supervisor{log: l, program: p}).later(c, answer)
		},
		"tcpRelay": func(l *slog.Logger, p *seccomp.Program, c *seccomp.Call, answer func()) {
			(&tcpRelay{log: l, program: p}).later(c, answer)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			program := &seccomp.Program{Listener: new(seccomp.Listener)}
			later(slog.New(slog.NewTextHandler(&b, nil)), program, new(seccomp.Call), func() { panic("a planted bug") })
			synctest.Wait()
			if !strings.Contains(b.String(), "a planted bug") || panics.Count() != 0 {
				t.Errorf("%s: %d panics nobody has claimed, and the log is %q", name, panics.Count(), b.String())
			}
		})
	}
}
