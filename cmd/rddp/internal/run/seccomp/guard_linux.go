//go:build amd64 || arm64

package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
)

// The guardian is the parent of the program and a child of the supervisor. It only waits. Each
// orphan of the program's process tree becomes its child, in any process group and session. So when
// the supervisor ends for whatever reason, the guardian can kill all processes of the tree:
// otherwise their calls would fail with ENOSYS forever, and their work requests would never
// complete. If the guardian is killed, the supervisor kills them. If the guardian is stopped, the
// supervisor continues it.
//
// The guardian has its own process group, so it does not get signals for the group of the
// supervisor and the program.

// guardianName is the argv[0] with which Start runs this executable as the guardian. guardianComm
// is the guardian's process name. It differs from the supervisor's, so that killing processes by
// name hits only one of them.
const (
	guardianName = "rddp-run-guardian"
	guardianComm = "run-guardian"
)

// guard runs the guardian. Its arguments are the descriptor numbers of the socket to the supervisor
// and of the stage's socket, followed by the arguments of the stage. It does not return.
func guard(args []string) {
	runtime.LockOSThread() // the program is killed when its parent thread ends
	runtime.GOMAXPROCS(1)  // nothing runs in parallel
	report, socket := ownDescriptor(args[0]), ownDescriptor(args[1])
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // fails only before Linux 3.4
	passSignals()
	pid, err := passOn([]string{args[2], args[1]}, args[3:], socket)
	unix.Close(socket)
	if err != nil {
		_ = unix.Sendmsg(report, []byte(err.Error()), nil, nil, unix.MSG_NOSIGNAL)
		os.Exit(exitCannotRun)
	}
	// This must come after the start: the program inherits ignored signals, and must be in the
	// process group that its user expects.
	deafen()
	_ = unix.Setpgid(0, 0)
	setName(guardianComm)
	w := &ward{program: pid}
	if err := w.introduce(report); err != nil {
		_ = unix.Sendmsg(report, []byte("pidfd_open: "+err.Error()), nil, nil, unix.MSG_NOSIGNAL)
		w.end()
	}
	go func() {
		b, control := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
		for { // receives the Listener's descriptor, and keeps it open, so that no call fails before all processes are killed
			if _, _, err := receive(report, b, control); err != nil {
				break // the supervisor has ended
			}
		}
		w.end()
	}()
	w.wait()
	status := binary.NativeEndian.AppendUint32(nil, uint32(w.result()))
	_ = unix.Sendmsg(report, status, nil, nil, unix.MSG_NOSIGNAL) // fails if the supervisor has ended
	os.Exit(0)
}

func setName(name string) {
	b := append([]byte(name), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, 0, 0) // an error does not matter
}

// deafen catches and drops the signals that rddp run does not pass on, as far as that is possible.
func deafen() {
	signal.Notify(make(chan os.Signal, 1),
		syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGIO, syscall.SIGPWR, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGPIPE, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGSYS, syscall.SIGTRAP, syscall.SIGABRT)
}

// passSignals sends the supervisor the signals that the supervisor would pass on to the program. A
// program that signals its parent means rddp run.
func passSignals() {
	passedOn := []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	heard := make(chan os.Signal, 16)
	for _, s := range passedOn {
		if !signal.Ignored(s) {
			signal.Notify(heard, s)
		}
	}
	supervisor := os.Getppid()
	go func() {
		for s := range heard {
			if os.Getppid() == supervisor {
				_ = unix.Kill(supervisor, s.(syscall.Signal)) // fails if the supervisor is just ending
			}
		}
	}()
}

// introduce sends the supervisor the program's PID and a pidfd.
func (w *ward) introduce(report int) error {
	pidfd, err := unix.PidfdOpen(w.program, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	return unix.Sendmsg(report, binary.NativeEndian.AppendUint32(nil, uint32(w.program)), unix.UnixRights(pidfd), nil, unix.MSG_NOSIGNAL)
}

// receiveProgram receives what introduce sends, or an error message from the guardian.
func receiveProgram(report int) (pid, pidfd int, err error) {
	b, control := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, cn, err := receive(report, b, control)
	switch {
	case err != nil:
		return 0, -1, err
	case cn == 0:
		return 0, -1, fmt.Errorf("the program cannot be started: %s", b[:n])
	}
	if pidfd, err = firstRight(control[:cn]); err != nil {
		return 0, -1, err
	}
	return int(binary.NativeEndian.Uint32(b)), pidfd, nil
}

// keepGoing continues the guardian whenever it has been stopped, for example by a SIGSTOP to all
// processes of the user. Otherwise the supervisor would never learn of the program's end. keepGoing
// returns when the guardian has ended.
func keepGoing(guardian int) {
	for {
		var what unix.Siginfo
		// WNOWAIT leaves the exit status for Wait.
		err := unix.Waitid(unix.P_PID, guardian, &what, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || what.Code != stopped:
			return
		default:
			_ = unix.Waitid(unix.P_PID, guardian, nil, unix.WSTOPPED|unix.WNOHANG, nil) // consumes the stop
			_ = unix.Kill(guardian, unix.SIGCONT)                                       // fails if the guardian is just ending
		}
	}
}

const stopped = 5 // CLD_STOPPED

// receiveStatus receives the program's status from the guardian.
func receiveStatus(report int) (unix.WaitStatus, error) {
	var b [4]byte
	if n, _, err := receive(report, b[:], nil); err != nil || n != len(b) {
		return 0, errors.Join(errNoGuardian, err)
	}
	return unix.WaitStatus(binary.NativeEndian.Uint32(b[:])), nil
}

var errNoGuardian = errors.New("the process that starts the program has ended")

// receive receives one message. If the other end has closed its socket with a message unread, the
// kernel says so once (ECONNRESET), before it gives what the other end has sent: a short program
// has ended before the guardian has received the Listener's descriptor, and its status waits.
func receive(socket int, b, control []byte) (n, cn int, err error) {
	for {
		n, cn, _, _, err = unix.Recvmsg(socket, b, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNRESET) {
			break
		}
	}
	if err == nil && n == 0 {
		err = errNoGuardian
	}
	return n, cn, err
}

// A ward manages the children of this process, including orphans of the program's tree. Only the
// holder of mu reaps a child, so while mu is held, no child's PID can be reused.
type ward struct {
	program int

	mu locks.Mutex[locks.Leaf]
	// the program's status
	status unix.WaitStatus // +checklocks:mu
	// all children must end
	ending bool // +checklocks:mu
}

// wait waits until there are no children.
func (w *ward) wait() {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if err == nil {
			w.reap()
		} else if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reap reaps all children that have ended. Their children are already children of this process.
func (w *ward) reap() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
		if err != nil || pid <= 0 {
			break
		}
		if pid == w.program {
			w.status = status
		}
	}
	if w.ending {
		killChildren()
	}
}

// result returns the status of the program after it has ended.
func (w *ward) result() unix.WaitStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// end kills all children, and makes wait kill the orphans that they leave behind.
func (w *ward) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	killChildren()
}

// endChildren kills all descendants of this process, and waits for their end.
func endChildren() {
	w := &ward{}
	w.end()
	w.wait()
}

// killChildren kills the children of this process.
func killChildren() {
	self := strconv.Itoa(os.Getpid())
	names, _ := filepath.Glob("/proc/[1-9]*/stat") // the pattern is valid
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		// The format is PID (NAME) STATE PARENT. The name may contain any bytes.
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != self {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
