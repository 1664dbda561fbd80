//go:build amd64 || arm64

package seccomp

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stages are the names under which Start runs this executable as a stage, by what its filter
// intercepts.
var stages = [...]string{
	"rddp-run-stage", Made: "rddp-run-stage-made", Accepted: "rddp-run-stage-accepted", Made | Accepted: "rddp-run-stage-tcp",
	Checked: "rddp-run-stage-check", Checked | Made: "rddp-run-stage-check-made", Checked | Accepted: "rddp-run-stage-check-accepted",
	Checked | Made | Accepted: "rddp-run-stage-check-tcp",
}

// exitCannotRun is the exit status of a stage that cannot execute the program, as in a shell.
const exitCannotRun = 126

// Errors of Start.
var (
	// ErrNested means that another supervisor already intercepts the calls of this process.
	ErrNested = errors.New("another program already answers the system calls of this process: one rddp run cannot run inside another")
	// ErrNotFound means that there is no such program.
	ErrNotFound = errors.New("the program is not there")
	// ErrNotRunnable means that the program may not be run.
	ErrNotRunnable = errors.New("the program cannot be run")
	// ErrRefused means that the kernel does not allow user notification.
	ErrRefused = errors.New("the kernel does not let a program's system calls be answered (seccomp user notification)")
)

// An EndedError means that a signal has ended the program before it began.
type EndedError struct{ Signal syscall.Signal }

func (e *EndedError) Error() string { return "a signal has ended the program: " + e.Signal.String() }

// Stage executes the guardian or the program if Start has started this process for that. Otherwise
// it returns. The executable's main function, or the TestMain of a test, must call it before
// anything else.
func Stage() {
	if os.Args[0] == guardianName {
		guard(os.Args[1:])
	}
	of := slices.Index(stages[:], os.Args[0])
	if of < 0 {
		return
	}
	runtime.LockOSThread() // the filter belongs to this thread, and exec keeps this thread
	socket, args := ownDescriptor(os.Args[1]), os.Args[2:]
	path, err := prepare(socket, args[0], Calls(of))
	if err != nil {
		_ = unix.Sendmsg(socket, []byte(err.Error()), nil, nil, unix.MSG_NOSIGNAL)
		os.Exit(exitCannotRun)
	}
	// The supervisor is already serving, so the error goes to the program's user.
	err = syscall.Exec(path, args, os.Environ())
	if errors.Is(err, unix.ENOEXEC) && isText(path) { // as execvp: a script that does not name its shell
		_ = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), os.Environ()) // err says more
	}
	fmt.Fprintf(os.Stderr, "rddp run: %s: %v\n", path, err)
	os.Exit(exitCannotRun)
}

// isText reports whether a file may be a script, and not a program for another processor. As POSIX
// has it for shells, a script has no zero byte in its first line.
func isText(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 256)
	n, _ := f.Read(begin)
	line, _, _ := bytes.Cut(begin[:n], []byte{'\n'})
	return !bytes.Contains(line, []byte{0})
}

// ownDescriptor returns the descriptor in an argument, and sets its close-on-exec flag. The number
// is passed as an argument because no number can be reserved: the user may pass the program any
// descriptors.
func ownDescriptor(argument string) int {
	fd, err := strconv.Atoi(argument)
	if err != nil {
		os.Exit(exitCannotRun) // someone else has used the name of a stage
	}
	unix.CloseOnExec(fd)
	return fd
}

// prepare installs the filter in this thread, and sends the supervisor the descriptor for
// notifications: see handOver. It returns the path of the program.
func prepare(socket int, name string, of Calls) (path string, err error) {
	path, err = exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %v", ErrNotFound, err)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrNotRunnable, err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "", err
	}
	// If the supervisor ends, the guardian kills the program. If both end, this does.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return "", err
	}
	return path, handOver(socket, Filter(of))
}

// handOver installs the filter in this thread, and sends the descriptor for its notifications.
func handOver(socket int, filter []unix.SockFilter) error {
	const newListener, waitKillable = 1 << 3, 1 << 5
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	control := unix.UnixRights(0)
	number := (*int32)(unsafe.Pointer(&control[unix.CmsgLen(0)]))
	part := unix.Iovec{Base: new(byte)}
	part.SetLen(1)
	message := unix.Msghdr{Iov: &part, Control: &control[0]}
	message.SetIovlen(1)
	message.SetControllen(len(control))

	// Until the descriptor is on its way, nobody answers a call that the filter intercepts, and it
	// would wait for ever. Go's runtime makes such calls when its heap grows, and may when it
	// preempts this goroutine. So nothing here may allocate, call a function that can be preempted,
	// or be interrupted by the signal for that.
	all, old := ^uint64(0), uint64(0)
	const setMask, setLen = 2, 8
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), setLen, 0, 0)
	// With waitKillable, only a fatal signal interrupts a call that the supervisor has begun to
	// answer. Otherwise some commands would run twice in a program with a timer.
	fd, _, err := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, newListener|waitKillable, uintptr(unsafe.Pointer(&program)))
	if err == syscall.EINVAL { // before Linux 5.19
		fd, _, err = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, newListener, uintptr(unsafe.Pointer(&program)))
	}
	sent := syscall.Errno(0)
	if err == 0 {
		*number = int32(fd)
		_, _, sent = unix.RawSyscall(unix.SYS_SENDMSG, uintptr(socket), uintptr(unsafe.Pointer(&message)), unix.MSG_NOSIGNAL)
	}
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&old)), 0, setLen, 0, 0)

	switch {
	case err == syscall.EBUSY:
		return ErrNested
	case err != 0:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case sent != 0:
		return sent
	}
	return unix.Close(int(fd))
}

// A Program is a program started by Start.
type Program struct {
	*Listener
	PID int

	guardian int           // the PID of the guardian
	over     chan struct{} // closed when keepGoing returns
	report   int           // the socket to the guardian
	pidfd    int           // of the program
}

// Start runs the program args[0] with the arguments args[1:], and with the standard streams and the
// environment of this process. The Program's Listener receives its calls; of selects those that are
// not about the device. The program, and all processes that it starts, are killed when this process
// ends: see guard.
func Start(args []string, of Calls) (*Program, error) {
	stage, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(stage[0])
	report, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		unix.Close(stage[1])
		return nil, err
	}
	p := &Program{report: report[0], pidfd: -1, over: make(chan struct{})}
	p.guardian, err = passOn([]string{guardianName, strconv.Itoa(report[1]), strconv.Itoa(stage[1]), stages[of]}, args, report[1], stage[1])
	unix.Close(stage[1])
	unix.Close(report[1])
	if err != nil {
		unix.Close(report[0])
		return nil, err
	}
	go func() {
		defer close(p.over)
		keepGoing(p.guardian)
	}()
	if p.PID, p.pidfd, err = receiveProgram(report[0]); err == nil {
		var fd int
		if fd, err = receiveListener(stage[0]); err == nil {
			p.Listener = newListener(fd)
			_ = unix.Sendmsg(p.report, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL) // if the guardian has ended, Wait will notice
			return p, nil
		}
	}
	if status := p.Wait(); p.PID > 0 && status.Signaled() {
		err = &EndedError{status.Signal()}
	}
	return nil, err
}

// passOn runs this executable again, with the arguments ours and args. The new process inherits
// fds, and all descriptors that this process has inherited.
func passOn(ours, args []string, fds ...int) (pid int, err error) {
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return 0, err
		}
	}
	return syscall.ForkExec("/proc/self/exe", slices.Concat(ours, args), &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
}

// Signal sends a signal to the program. It has no effect if the program has ended.
func (p *Program) Signal(s syscall.Signal) { _ = unix.PidfdSendSignal(p.pidfd, s, nil, 0) }

// Kill kills the program and all processes that it has started. Wait then returns SIGKILL.
func (p *Program) Kill() {
	_ = unix.Shutdown(p.report, unix.SHUT_RDWR) // to the guardian, this is the end of the supervisor
}

// Wait waits until the program and all processes that it has started have ended, and returns the
// status of the program. It also releases the resources of p, except the Listener.
func (p *Program) Wait() unix.WaitStatus {
	status, err := receiveStatus(p.report)
	if err != nil {
		// The guardian has been killed, and its children are now children of this process.
		endChildren()
		status = unix.WaitStatus(unix.SIGKILL)
	}
	<-p.over
	for {
		if _, err := unix.Wait4(p.guardian, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	unix.Close(p.report)
	if p.pidfd >= 0 {
		unix.Close(p.pidfd)
	}
	return status
}

// receiveListener receives the descriptor for notifications, or an error message from the stage.
func receiveListener(socket int) (int, error) {
	text, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	n, cn, err := receive(socket, text, control)
	switch {
	case err != nil:
		return 0, err
	case cn == 0:
		return 0, stageError(string(text[:n]))
	}
	return firstRight(control[:cn])
}

// firstRight returns the descriptor that a message carries.
func firstRight(control []byte) (int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// stageError returns the error in a message from the stage.
func stageError(text string) error {
	for _, e := range []error{ErrNested, ErrNotFound, ErrNotRunnable, ErrRefused} {
		if rest, ok := strings.CutPrefix(text, e.Error()); ok {
			return fmt.Errorf("%w%s", e, rest)
		}
	}
	return errors.New(text)
}
