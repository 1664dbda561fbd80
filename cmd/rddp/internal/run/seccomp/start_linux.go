//go:build amd64 || arm64

package seccomp

import (
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

// stages are the names under which Start runs this executable again, by the TCP calls in its
// filter.
var stages = [...]string{"rddp-run-stage", Made: "rddp-run-stage-made", Accepted: "rddp-run-stage-accepted", Made | Accepted: "rddp-run-stage-tcp"}

// exitCannotRun is the status with which the stage ends if it can't become the program, as a shell
// does.
const exitCannotRun = 126

// Errors of Start.
var (
	// ErrNested means that another supervisor already listens to this process.
	ErrNested = errors.New("another program already answers the system calls of this process: one rddp run cannot run inside another")
	// ErrNotFound means that there is no such program.
	ErrNotFound = errors.New("the program is not there")
	// ErrNotRunnable means that the program may not be run.
	ErrNotRunnable = errors.New("the program cannot be run")
	// ErrRefused means that the kernel does not allow it.
	ErrRefused = errors.New("the kernel does not let a program's system calls be answered (seccomp user notification)")
)

// An EndedError means that a signal has ended the program before it began.
type EndedError struct{ Signal syscall.Signal }

func (e *EndedError) Error() string { return "a signal has ended the program: " + e.Signal.String() }

// Stage becomes the program if Start has run this process. Otherwise it returns. The executable's
// main, or the TestMain of a test, must call it before anything else.
func Stage() {
	if os.Args[0] == guardianName {
		guard(os.Args[1:])
	}
	tcp := slices.Index(stages[:], os.Args[0])
	if tcp < 0 {
		return
	}
	runtime.LockOSThread() // the filter is one of this thread, and exec keeps this thread
	socket, args := ownDescriptor(os.Args[1]), os.Args[2:]
	path, err := prepare(socket, args[0], TCP(tcp))
	if err != nil {
		_ = unix.Sendmsg(socket, []byte(err.Error()), nil, nil, unix.MSG_NOSIGNAL)
		os.Exit(exitCannotRun)
	}
	// The supervisor listens already, so the error is for the program's user.
	err = syscall.Exec(path, args, os.Environ())
	fmt.Fprintf(os.Stderr, "rddp run: %s: %v\n", path, err)
	os.Exit(exitCannotRun)
}

// ownDescriptor returns the descriptor of an argument, which the next program is not to have. Its
// number is one that was free, since all others are the user's, who may have given the program any.
func ownDescriptor(argument string) int {
	fd, err := strconv.Atoi(argument)
	if err != nil {
		os.Exit(exitCannotRun) // nobody but the supervisor knows the name of a stage
	}
	unix.CloseOnExec(fd)
	return fd
}

// prepare makes this thread one whose calls the supervisor sees. It returns the path of the
// program.
func prepare(socket int, name string, tcp TCP) (path string, err error) {
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
	// The guardian ends the program if the supervisor ends, and this does if both do.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return "", err
	}
	fd, err := install(Filter(tcp))
	if err != nil {
		return "", err
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL); err != nil {
		return "", err
	}
	return path, unix.Close(fd)
}

// install installs the filter in this thread and returns the descriptor for its notifications.
func install(filter []unix.SockFilter) (int, error) {
	const newListener, waitKillable = 1 << 3, 1 << 5
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// A call that the supervisor has begun to answer is then interrupted only by a signal that
	// kills. Otherwise a program with a timer would have some commands done twice.
	fd, err := setFilter(newListener|waitKillable, &program)
	if err == syscall.EINVAL { // before Linux 5.19
		fd, err = setFilter(newListener, &program)
	}
	switch err {
	case 0:
		return fd, nil
	case syscall.EBUSY:
		return 0, ErrNested
	}
	return 0, fmt.Errorf("%w: %w", ErrRefused, err)
}

func setFilter(flags uintptr, program *unix.SockFprog) (int, syscall.Errno) {
	fd, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(program)))
	return int(fd), e
}

// A Program is a program that Start has started.
type Program struct {
	*Listener
	PID int

	guardian int           // the number of its process
	over     chan struct{} // closed when it has ended, or another goroutine has taken its status
	report   int           // the socket to it
	pidfd    int           // of the program
}

// Start runs the program args[0] with the arguments args[1:], with the standard streams and the
// environment of this process, and returns the Listener for its calls. tcp says which calls for TCP
// connections the Listener sees too. The program, and all that it starts, is killed when this
// process ends: see guard.
func Start(args []string, tcp TCP) (*Program, error) {
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
	p.guardian, err = passOn([]string{guardianName, strconv.Itoa(report[1]), strconv.Itoa(stage[1]), stages[tcp]}, args, report[1], stage[1])
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
			_ = unix.Sendmsg(p.report, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL) // Wait sees that the guardian has ended
			return p, nil
		}
	}
	if status := p.Wait(); p.PID > 0 && status.Signaled() {
		err = &EndedError{status.Signal()}
	}
	return nil, err
}

// passOn runs this executable again, with arguments of ours and of the program, and with the
// descriptors beside those that this process has from its user.
func passOn(ours, args []string, fds ...int) (pid int, err error) {
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return 0, err
		}
	}
	return syscall.ForkExec("/proc/self/exe", slices.Concat(ours, args), &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
}

// Signal sends a signal to the program, if that has not ended.
func (p *Program) Signal(s syscall.Signal) { _ = unix.PidfdSendSignal(p.pidfd, s, nil, 0) }

// Wait waits until the program and all that it has started have ended, and returns the status of
// the program. It also releases what p has besides the Listener.
func (p *Program) Wait() unix.WaitStatus {
	status, err := receiveStatus(p.report)
	if err != nil {
		// Something has killed the guardian, whose children are now those of this process.
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

// receiveListener receives the descriptor for notifications, or what the stage says instead.
func receiveListener(socket int) (int, error) {
	text, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	n, cn, _, _, err := unix.Recvmsg(socket, text, control, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, errors.New("the stage that starts the program has ended")
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

// stageError returns the error that the stage has sent as a text.
func stageError(text string) error {
	for _, e := range []error{ErrNested, ErrNotFound, ErrNotRunnable, ErrRefused} {
		if rest, ok := strings.CutPrefix(text, e.Error()); ok {
			return fmt.Errorf("%w%s", e, rest)
		}
	}
	return errors.New(text)
}
