//go:build amd64 || arm64

package run

import (
	"encoding/binary"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

var native = binary.NativeEndian

// A forwarder passes signals on to the program. Those that a terminal sends reach the program
// without help, since it is in the same process group, and this process outlives them.
type forwarder struct {
	signals chan os.Signal
	pid     atomic.Int64
}

func newForwarder() *forwarder {
	f := &forwarder{signals: make(chan os.Signal, 16)}
	signal.Notify(f.signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range f.signals {
			if s == syscall.SIGINT || s == syscall.SIGQUIT {
				continue
			}
			if pid := int(f.pid.Load()); pid > 0 {
				_ = syscall.Kill(pid, s.(syscall.Signal)) // the program may have ended
			}
		}
	}()
	return f
}

func (f *forwarder) stop() {
	signal.Stop(f.signals)
	close(f.signals)
}

func resetSignal(s syscall.Signal) { signal.Reset(s) }
