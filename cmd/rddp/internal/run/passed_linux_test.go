//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

func init() { programs["passed"], programs["duplicate-cm"] = passedProgram, duplicateCMProgram }

// passedProgram passes its device, and a completion channel, to another program by SCM_RIGHTS. That
// program gets them at numbers that the filter does not know.
func passedProgram(args []string) error {
	if len(args) > 0 {
		return receivedProgram()
	}
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	channel, err := c.Channel()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	cq, err := c.CQ(10, channel, 101)
	if err != nil {
		return err
	}
	q, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 4, SGEs: 1})
	if err != nil {
		return err
	}
	if err := c.Arm(cq, 0); err != nil {
		return err
	}
	const number = 20 // of a duplicate
	device := c.Kernel.(*guest.File).FD
	if err := unix.Dup3(device, number, unix.O_CLOEXEC); err != nil {
		return err
	}
	if _, _, err := (&guest.File{FD: number}).Do(3, make([]byte, 8), nil, 4, 0); err != nil {
		return fmt.Errorf("by a duplicate from dup3: %w", err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	other := exec.Command(self, perform, "passed", "receive")
	other.ExtraFiles, other.Stderr = []*os.File{os.NewFile(uintptr(ends[1]), "socket")}, os.Stderr
	if err := errors.Join(other.Start(), unix.Sendmsg(ends[0], []byte("x"), unix.UnixRights(device, channel), nil, 0)); err != nil {
		return err
	}
	_, err = unix.Read(ends[0], make([]byte, 1)) // the other program has used the device
	q.PostRecv(1, guest.SGE{})
	for _, state := range []uint8{guest.Init, guest.Err} { // flushes the receive, with an event
		err = errors.Join(err, q.Modify(state, [16]byte{}, 0, nil))
	}
	return errors.Join(err, other.Wait())
}

// receivedProgram gets the device and the channel by descriptor 3.
func receivedProgram() error {
	b, control := make([]byte, 1), make([]byte, unix.CmsgSpace(2*4))
	_, n, _, _, err := unix.Recvmsg(3, b, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	_, _, err = (&guest.File{FD: fds[0]}).Do(3, make([]byte, 8), nil, 4, 0)
	if _, err2 := unix.Write(3, []byte("x")); err != nil || err2 != nil {
		return fmt.Errorf("by descriptor %d: %w, %w", fds[0], err, err2)
	}
	event := make([]byte, 8)
	if n, err := unix.Read(fds[1], event); n != 8 || err != nil || event[0] != 101 {
		return fmt.Errorf("event %x, %w", event[:n], err)
	}
	return nil
}

func TestPassedDescriptors(t *testing.T) {
	if err := under(performance(t, "passed")...).Run(); err != nil {
		t.Error(err)
	}
}

// duplicateCMProgram sends commands of rdma_cm through duplicates from dup3, at numbers that the
// filter knows.
func duplicateCMProgram([]string) error {
	c, err := guest.OpenCM()
	if err != nil {
		return err
	}
	for _, number := range []int{35, 39, 1003} {
		if err := unix.Dup3(c.FD, number, unix.O_CLOEXEC); err != nil {
			return err
		}
		if _, err := (&guest.CM{FD: number}).ID(1, 0x106); err != nil {
			return fmt.Errorf("at number %d: %w", number, err)
		}
	}
	const other = 1000 // the filter does not know it
	if err := unix.Dup3(c.FD, other, unix.O_CLOEXEC); err != nil {
		return err
	}
	_, err = (&guest.CM{FD: other}).ID(1, 0x106)
	if err := wantErrno(err, syscall.EBADF); err != nil {
		return err
	}
	again, err := unix.FcntlInt(other, unix.F_DUPFD_CLOEXEC, 43)
	if err != nil || again != 43 {
		return fmt.Errorf("a duplicate of the duplicate: %d, %w", again, err)
	}
	_, err = (&guest.CM{FD: again}).ID(1, 0x106)
	return err
}

func TestDuplicateCM(t *testing.T) {
	if err := under(performance(t, "duplicate-cm")...).Run(); err != nil {
		t.Error(err)
	}
}
