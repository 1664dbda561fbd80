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

// The guardian is the parent of the program, and a child of the supervisor. It does nothing but
// wait. Each orphan of the program's tree becomes its child, whatever its process group and its
// session are. So when the supervisor ends, by whatever means, the guardian can kill all that the
// supervisor leaves behind: without it, their calls would fail with ENOSYS for ever, and their work
// requests would never complete. If the guardian is killed, the supervisor does the same. If the
// guardian is stopped, the supervisor continues it.
//
// A process group of its own keeps it from signals that are for the group of the supervisor and the
// program.

// guardianName is the name under which Start runs this executable again as the guardian, and
// guardianComm that of the process, which is to differ from the supervisor's, so that whoever kills
// that by its name meets only one of them.
const (
	guardianName = "rddp-run-guardian"
	guardianComm = "run-guardian"
)

// guard is the guardian. Its arguments are the numbers of the socket to the supervisor and of that
// of the stage, and those of the stage. It does not return.
func guard(args []string) {
	runtime.LockOSThread() // the program is killed when this thread ends
	runtime.GOMAXPROCS(1)  // there is nothing to do at the same time
	report, socket := ownDescriptor(args[0]), ownDescriptor(args[1])
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // before Linux 3.4 orphans would stay
	passSignals()
	pid, err := passOn([]string{args[2], args[1]}, args[3:], socket)
	unix.Close(socket)
	if err != nil {
		_ = unix.Sendmsg(report, []byte(err.Error()), nil, nil, unix.MSG_NOSIGNAL)
		os.Exit(exitCannotRun)
	}
	// All of this is for the time after the start: the program inherits what is ignored, and is in
	// the group in which its user expects it.
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
		for { // the Listener's descriptor comes, which is kept, so that no call fails before all are killed
			if _, _, err := receive(report, b, control); err != nil {
				break // the supervisor has ended
			}
		}
		w.end()
	}()
	w.wait()
	status := binary.NativeEndian.AppendUint32(nil, uint32(w.result()))
	_ = unix.Sendmsg(report, status, nil, nil, unix.MSG_NOSIGNAL) // the supervisor may have ended
	os.Exit(0)
}

func setName(name string) {
	b := append([]byte(name), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, 0, 0) // it is only a name
}

// deafen makes this process deaf for the signals that rddp run does not pass on, but those that
// nobody can ignore.
func deafen() {
	signal.Notify(make(chan os.Signal, 1),
		syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGIO, syscall.SIGPWR, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGPIPE, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGSYS, syscall.SIGTRAP, syscall.SIGABRT)
}

// passSignals passes on to the supervisor what it passes on to the program: a program that signals
// its parent means rddp run.
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
				_ = unix.Kill(supervisor, s.(syscall.Signal)) // it ends just now
			}
		}
	}()
}

// introduce tells the supervisor which process is the program.
func (w *ward) introduce(report int) error {
	pidfd, err := unix.PidfdOpen(w.program, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	return unix.Sendmsg(report, binary.NativeEndian.AppendUint32(nil, uint32(w.program)), unix.UnixRights(pidfd), nil, unix.MSG_NOSIGNAL)
}

// receiveProgram receives what introduce sends, or what the guardian says instead.
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

// keepGoing continues the guardian whenever something has stopped it: a SIGSTOP for all processes
// with the user's name, for example. Otherwise the end of the program would never be known. It
// returns when the guardian has ended.
func keepGoing(guardian int) {
	for {
		var what unix.Siginfo
		// The status of its end is left for Wait.
		err := unix.Waitid(unix.P_PID, guardian, &what, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || what.Code != stopped:
			return
		default:
			_ = unix.Waitid(unix.P_PID, guardian, nil, unix.WSTOPPED|unix.WNOHANG, nil) // it is known
			_ = unix.Kill(guardian, unix.SIGCONT)                                       // it may end just now
		}
	}
}

const stopped = 5 // CLD_STOPPED

// receiveStatus receives the status of the program. An error means that the guardian has not sent
// it.
func receiveStatus(report int) (unix.WaitStatus, error) {
	var b [4]byte
	if n, _, err := receive(report, b[:], nil); err != nil || n != len(b) {
		return 0, errors.Join(errNoGuardian, err)
	}
	return unix.WaitStatus(binary.NativeEndian.Uint32(b[:])), nil
}

var errNoGuardian = errors.New("the process that starts the program has ended")

func receive(socket int, b, control []byte) (n, cn int, err error) {
	for {
		n, cn, _, _, err = unix.Recvmsg(socket, b, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && n == 0 {
		err = errNoGuardian
	}
	return n, cn, err
}

// A ward is the children of this process, orphans of the program's tree among them. No number of a
// child stands for another process while mu is held, since only the holder of mu takes the status
// of one that has ended.
type ward struct {
	program int

	mu locks.Mutex[locks.Leaf]
	// what result returns
	status unix.WaitStatus // +checklocks:mu
	// all children are to end
	ending bool // +checklocks:mu
}

// wait waits until there is no child any more.
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

// reap takes the status of all children that have ended. Their children are children of this
// process by then.
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

// result returns the status of the program, once that has ended.
func (w *ward) result() unix.WaitStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// end kills all children, and makes wait kill those that they leave behind.
func (w *ward) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	killChildren()
}

// endChildren kills all children of this process, and theirs, and waits for their end.
func endChildren() {
	w := &ward{}
	w.end()
	w.wait()
}

// killChildren kills the children of this process.
func killChildren() {
	self := strconv.Itoa(os.Getpid())
	names, _ := filepath.Glob("/proc/[1-9]*/stat") // the pattern is right
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE PARENT: the name may have anything in it.
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != self {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
