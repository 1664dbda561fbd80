//go:build amd64 || arm64

package run

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
)

// Calls that a thread of the program makes for the supervisor.

// callFrom answers a call by one that the program's thread makes itself, with a descriptor of a
// folder, which it closes. No process can change the working directory of another one, or pass it a
// descriptor of a symbolic link. So callFrom attaches to the thread like a debugger, and has it
// make the call and close the descriptor. It needs the rights that the supervisor needs anyway. If
// it cannot attach, because a debugger has, it returns false.
func (s *supervisor) callFrom(c *seccomp.Call, folder int, call func(n int) threadCall) bool {
	defer unix.Close(folder)
	runtime.LockOSThread() // only the thread that has attached may go on
	defer runtime.UnlockOSThread()
	if err := ptrace(unix.PTRACE_SEIZE, c.Thread, unix.PTRACE_O_TRACESYSGOOD); err != nil {
		s.log.Info("the program cannot enter the folder of a device, or open a link", "thread", c.Thread, "err", err)
		return false
	}
	n, err := s.program.AddFD(c, folder, -1, true)
	if err == nil {
		err = ptrace(unix.PTRACE_INTERRUPT, c.Thread, 0)
	}
	if err != nil {
		s.program.Answer(c, 0, errnoOf(err))
		_ = ptrace(unix.PTRACE_DETACH, c.Thread, 0)
		return true
	}
	s.program.Answer(c, 0, syscall.EINTR)
	if err := callIn(c.Thread, call(n), threadCall{unix.SYS_CLOSE, [3]uint64{uint64(n)}}); err != nil {
		s.log.Warn("the program is not in the folder of a device that it has entered, or has not opened a link", "thread", c.Thread, "err", err)
	}
	return true
}

// A threadCall is a system call that a thread of the program is to make.
type threadCall struct {
	number uint64
	args   [3]uint64
}

// callIn has a thread that is about to stop make calls. The thread goes on as if its last call had
// returned what the first one of them has.
func callIn(thread int, calls ...threadCall) error {
	if err := waitStop(thread); err != nil {
		return err
	}
	defer func() { _ = ptrace(unix.PTRACE_DETACH, thread, 0) }()
	var saved, all uint64
	if err := ptrace(unix.PTRACE_GETSIGMASK, thread, uintptr(unsafe.Pointer(&saved)), unsafe.Sizeof(saved)); err != nil {
		return err
	}
	all--
	if err := ptrace(unix.PTRACE_SETSIGMASK, thread, uintptr(unsafe.Pointer(&all)), unsafe.Sizeof(all)); err != nil {
		return err
	}
	defer func() {
		_ = ptrace(unix.PTRACE_SETSIGMASK, thread, uintptr(unsafe.Pointer(&saved)), unsafe.Sizeof(saved))
	}()
	var before registers
	if err := before.get(thread); err != nil {
		return err
	}
	var result uint64
	for i, call := range calls {
		r := before
		r.prepare(call)
		if err := r.set(thread); err != nil {
			return err
		}
		for range 2 { // the beginning and the end of the call
			if err := untilCall(thread); err != nil {
				return err
			}
		}
		if err := r.get(thread); err != nil {
			return err
		}
		if i == 0 {
			result = r.result()
		}
	}
	before.finish(result)
	return before.set(thread)
}

// stopAtCall is the signal of a stop at a call: see PTRACE_O_TRACESYSGOOD.
const stopAtCall = unix.SIGTRAP | 0x80

// untilCall lets a thread go on until it begins or ends a call.
func untilCall(thread int) error {
	for {
		if err := ptrace(unix.PTRACE_SYSCALL, thread, 0); err != nil {
			return err
		}
		var status unix.WaitStatus
		if err := waitFor(thread, &status); err != nil {
			return err
		}
		if status.StopSignal() == stopAtCall {
			return nil
		}
	}
}

func waitStop(thread int) error {
	var status unix.WaitStatus
	return waitFor(thread, &status)
}

// waitFor waits until a thread stops. It fails if the thread ends.
func waitFor(thread int, status *unix.WaitStatus) error {
	for {
		_, err := unix.Wait4(thread, status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case !status.Stopped():
			return unix.ESRCH
		default:
			return nil
		}
	}
}

// ptrace makes the system call. Of two arguments, the first is the address.
func ptrace(request, thread int, args ...uintptr) error {
	var addr, data uintptr
	switch len(args) {
	case 1:
		data = args[0]
	case 2:
		data, addr = args[0], args[1]
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(thread), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}
