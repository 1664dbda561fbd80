//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

func init() { programs["withheld"] = withheldProgram }

// withhold makes each access to memory wait until the returned descriptor is closed.
func withhold(b []byte) (fd int, err error) {
	const (
		ioctlAPI      = 0xc018aa3f
		ioctlRegister = 0xc020aa00
		version       = 0xaa
		missing       = 1
	)
	n, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK, 0, 0)
	if e != 0 {
		return -1, e
	}
	api := [3]uint64{version}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, n, ioctlAPI, uintptr(unsafe.Pointer(&api))); e != 0 {
		return -1, e
	}
	register := [4]uint64{uint64(uintptr(unsafe.Pointer(&b[0]))), uint64(len(b)), missing}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, n, ioctlRegister, uintptr(unsafe.Pointer(&register))); e != 0 {
		return -1, e
	}
	return int(n), nil
}

// cannotWithhold is the exit status of withheldProgram without the right to use userfaultfd.
const cannotWithhold = 7

// withheldProgram posts datagrams from memory that it withholds, and deregisters that memory, which
// waits. Another program uses the device meanwhile, and both are shown.
func withheldProgram([]string) error {
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	cq, err := c.CQ(16, -1, 1)
	if err != nil {
		return err
	}
	memory, err := pages(1 << 16)
	if err != nil {
		return err
	}
	fd, err := withhold(memory)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		os.Exit(cannotWithhold)
	}
	if err != nil {
		return err
	}
	mr, err := c.Register(pd, memory, guest.All)
	if err != nil {
		return err
	}
	q, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 4, SGEs: 1, Type: 4})
	if err != nil {
		return err
	}
	const key = 0x11111111
	gid := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	if err := q.Enable(key); err != nil {
		return err
	}
	if err := q.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, To: &guest.To{GID: gid, QPN: q.Num, QKey: key}, List: []guest.SGE{mr.Part(0, 8)}}); err != nil {
		return err
	}
	deregistered := make(chan error, 1)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"device", "netlink-many"} {
		other := exec.Command(self, perform, name)
		other.Stderr = os.Stderr
		if err := other.Run(); err != nil {
			return fmt.Errorf("another program: %s: %w", name, err)
		}
		if name == "device" { // its doorbell comes after this program's
			go func() { deregistered <- c.Free(13, mr.Handle) }()
		}
	}
	// The queue pairs of the programs that have ended are there until the supervisor notices.
	for n := 0; n != 1; {
		if err := useNetlink(func(fd int) error {
			answer, err := answerTo(fd, netlinkRequest(nldevQP, dumpRequest))
			n = len(numbersIn(answer))
			return err
		}); err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the program's own queue pair is not there")
		}
	}
	select {
	case err := <-deregistered:
		return fmt.Errorf("the memory is deregistered before its page has come: %w", err)
	default:
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	if err := <-deregistered; err != nil {
		return err
	}
	next(cq)
	return nil
}

// TestWithheldMemory checks that a program that withholds a page from the device keeps no other
// program waiting.
func TestWithheldMemory(t *testing.T) {
	err := under(performance(t, "withheld")...).Run()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && e.ExitCode() == cannotWithhold {
		t.Skip("userfaultfd is forbidden here")
	}
	if err != nil {
		t.Error(err)
	}
}
