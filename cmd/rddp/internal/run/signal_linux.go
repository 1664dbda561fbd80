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

// ignored are the signals that this process ignored when it began, as nohup(1) has it, and a shell
// whose script puts it into the background. Go's runtime keeps no others ignored.
var ignored = slices.DeleteFunc([]os.Signal{syscall.SIGHUP, syscall.SIGINT}, func(s os.Signal) bool { return !signal.Ignored(s) })

// A forwarder passes signals on to the program. Those that a terminal sends reach the program
// without help, since it is in the same process group, and this process outlives them.
type forwarder struct{ signals chan os.Signal }

// newForwarder catches the signals from now on. It comes before the program starts, which then
// ignores what is ignored.
func newForwarder() *forwarder {
	f := &forwarder{signals: make(chan os.Signal, 16)}
	signal.Notify(f.signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	if len(ignored) > 0 {
		signal.Ignore(ignored...)
	}
	return f
}

// forward passes signals on to a program that has been started. Those that came before have reached
// no program, or one that was just beginning.
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

// inForeground reports whether this process group is the one to which a terminal sends its signals.
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

// endBy ends this process by a signal, so that whoever waits for it sees what ended the program. It
// returns if the signal does not end a process.
func endBy(sig syscall.Signal) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // the program's core is the one that counts
	// Go's runtime has handlers of its own for some signals, which package signal does not take
	// away. All zeros are the default action.
	var action [4]uint64
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	_ = unix.Kill(os.Getpid(), sig)
}
