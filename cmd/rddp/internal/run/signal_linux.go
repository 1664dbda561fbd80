//go:build amd64 || arm64

package run

import (
	"encoding/binary"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
)

var native = binary.NativeEndian

// ignored are the signals that this process ignored when it began, for example because of nohup(1),
// or because a shell script started it in the background. Go's runtime keeps no others ignored.
var ignored = slices.DeleteFunc([]os.Signal{syscall.SIGHUP, syscall.SIGINT}, func(s os.Signal) bool { return !signal.Ignored(s) })

// A forwarder passes signals on to the program. Signals from a terminal reach the program directly,
// since it is in the same process group; this process survives them.
type forwarder struct{ signals chan os.Signal }

// newForwarder starts catching signals. It must be called before the program starts, so that the
// program inherits the ignored signals.
func newForwarder() *forwarder {
	f := &forwarder{signals: make(chan os.Signal, 16)}
	signal.Notify(f.signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	if len(ignored) > 0 {
		signal.Ignore(ignored...)
	}
	// If the reader of the log or of a trace ends, such as head(1), that is an error of a Write and
	// no more. Without this, it would end this process, and with it all devices.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return f
}

// forward passes signals on to a program that has been started. It begins with the signals that
// came earlier, which the program may have missed.
func (f *forwarder) forward(p *seccomp.Program) {
	pass := func(s os.Signal) { p.Signal(s.(syscall.Signal)) }
	for early := len(f.signals); early > 0; early-- {
		pass(<-f.signals)
	}
	go func() {
		for s := range f.signals {
			if s != syscall.SIGINT && s != syscall.SIGQUIT || !inForeground() {
				pass(s)
			}
		}
	}()
}

// inForeground reports whether the terminal sends its signals to this process group.
func inForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false // there is no terminal
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func (f *forwarder) stop() {
	signal.Stop(f.signals)
	close(f.signals)
}

// endBy ends this process by a signal, so that its parent sees what ended the program. It returns
// if the signal does not end a process.
func endBy(sig syscall.Signal) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // only the program's core dump is useful
	// Go's runtime has its own handlers for some signals, which package signal does not remove. All
	// zeros mean the default action.
	var action [4]uint64
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	_ = unix.Kill(os.Getpid(), sig)
}
