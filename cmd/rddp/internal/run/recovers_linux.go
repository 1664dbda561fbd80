//go:build amd64 || arm64

package run

import (
	"log/slog"
	"syscall"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/panics"
)

// recovers is deferred by what answers a call. A panic there is a bug: it ends the call with an
// error, and not the process with the devices of all programs.
func recovers(log *slog.Logger, p *seccomp.Program, c *seccomp.Call) {
	if value := recover(); value != nil {
		err := panics.New(value)
		_ = err.Claim() // the log has it
		log.Error("a bug of rddp run makes a call of the program fail", "thread", c.Thread, "kind", c.Kind, "err", err)
		p.Answer(c, 0, syscall.EIO)
	}
}

// survives is deferred by what a goroutine does for one file or connection of a program, where no
// call waits for it. A panic there is a bug, and leaves the rest of that file or connection undone.
func survives(log *slog.Logger, of string) {
	if value := recover(); value != nil {
		err := panics.New(value)
		_ = err.Claim() // the log has it
		log.Error("a bug of rddp run", "of", of, "err", err)
	}
}

// later answers a call in a goroutine of its own: the answer waits, or needs answers to other calls
// of the program.
func (s *supervisor) later(c *seccomp.Call, answer func()) {
	go func() {
		defer recovers(s.log, s.program, c)
		answer()
	}()
}

// later is later of a supervisor. The program's end waits for the answer.
func (t *tcpRelay) later(c *seccomp.Call, answer func()) {
	t.relays.Go(func() {
		defer recovers(t.log, t.program, c)
		answer()
	})
}
