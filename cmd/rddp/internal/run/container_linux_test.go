//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

func init() { programs["contained"], programs["unread"] = containedProgram, unreadProgram }

// denied are the system calls that Docker's default profile denies a container without added
// capabilities, and that Linux has on amd64 and arm64.
var denied = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK,
	unix.SYS_GET_MEMPOLICY, unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_KCMP,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MBIND, unix.SYS_MOUNT,
	unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOVE_PAGES, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_PERSONALITY, unix.SYS_PIDFD_GETFD, unix.SYS_PIVOT_ROOT, unix.SYS_PROCESS_MADVISE, unix.SYS_QUOTACTL, unix.SYS_REBOOT,
	unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SET_MEMPOLICY,
	unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

// deniedEarlier are the calls that Docker before version 23 and containerd before 1.7 also deny.
var deniedEarlier = []uint32{unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV}

// dockers returns a filter that denies these calls, and others. As in Docker's profile, clone3
// fails with ENOSYS, so programs use clone, which must not make namespaces.
func dockers(others []uint32) []unix.SockFilter {
	const (
		load       = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal      = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		set        = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end        = unix.BPF_RET | unix.BPF_K
		refuse     = unix.SECCOMP_RET_ERRNO
		namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	)
	f := []unix.SockFilter{{Code: load, K: 0}} // the number
	for _, n := range slices.Concat(denied, others) {
		f = append(f, unix.SockFilter{Code: equal, Jf: 1, K: n}, unix.SockFilter{Code: end, K: refuse | uint32(unix.EPERM)})
	}
	return append(f,
		unix.SockFilter{Code: equal, Jf: 1, K: unix.SYS_CLONE3}, unix.SockFilter{Code: end, K: refuse | uint32(unix.ENOSYS)},
		unix.SockFilter{Code: equal, Jf: 3, K: unix.SYS_CLONE}, unix.SockFilter{Code: load, K: 16}, // its flags
		unix.SockFilter{Code: set, Jf: 1, K: namespaces}, unix.SockFilter{Code: end, K: refuse | uint32(unix.EPERM)},
		unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW},
	)
}

// containedProgram runs a supervisor in a process with Docker's filter. The first argument selects
// the version.
func containedProgram(args []string) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	var others []uint32
	if args[0] == "earlier" {
		others = deniedEarlier
	}
	f := dockers(others)
	p := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	const allThreads = 1
	if _, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, allThreads, uintptr(unsafe.Pointer(&p))); e != 0 {
		return e
	}
	if _, err := unix.PidfdGetfd(0, 0, 0); !errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("the filter does not work: %v", err)
	}
	return unix.Exec("/proc/self/exe", append([]string{supervise}, args[1:]...), os.Environ())
}

// unreadProgram destroys objects that have unread events.
func unreadProgram([]string) error {
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	fd, err := c.Channel()
	if err != nil {
		return err
	}
	var cqs [2]*guest.CQ
	for k := range cqs {
		if cqs[k], err = c.CQ(10, fd, uint64(100+k)); err != nil {
			return err
		}
		if err := c.Arm(cqs[k], 0); err != nil {
			return err
		}
		q, err := c.QP(guest.QPConfig{PD: pd, Send: cqs[k], Recv: cqs[k], Depth: 4, SGEs: 1})
		if err != nil {
			return err
		}
		q.PostRecv(1, guest.SGE{})
		for _, state := range []uint8{guest.Init, guest.Err} { // flushes the receive, with an event
			if err := q.Modify(state, [16]byte{}, 0, nil); err != nil {
				return err
			}
		}
		next(cqs[k])
		if _, err := c.Destroy(27, q.Handle); err != nil {
			return err
		}
	}
	if n, err := c.Destroy(20, cqs[0].Handle); n != 0 || err != nil {
		return fmt.Errorf("the program has read %d events of the first CQ, %v, but it has read none", n, err)
	}
	event := make([]byte, 8)
	if n, err := unix.Read(fd, event); n != 8 || err != nil || event[0] != 101 {
		return fmt.Errorf("event %x, %v, want that of the second CQ", event[:n], err)
	}
	if n, err := c.Destroy(20, cqs[1].Handle); n != 1 || err != nil {
		return fmt.Errorf("the program has read %d events of the second CQ, %v, want 1", n, err)
	}
	return nil
}

func TestUnreadEvents(t *testing.T) {
	if err := under(performance(t, "unread")...).Run(); err != nil {
		t.Error(err)
	}
}

// TestDockersProfile checks that everything works under Docker's default profile.
func TestDockersProfile(t *testing.T) {
	for _, profile := range []string{"now", "earlier"} {
		for _, args := range [][]string{{"device"}, {"look"}, {"unread"}, {"netlink"}, {"netlink-many"}, {"netlink-late"}, {"netlink-threads"}, {"leak", "3"}, {"company", "1", "1000"}} {
			c := exec.Command("/proc/self/exe", append([]string{perform, "contained", profile}, performance(t, args[0], args[1:]...)...)...)
			c.Stderr = os.Stderr
			if err := c.Run(); err != nil {
				t.Errorf("%s, %s: %v", profile, args[0], err)
			}
		}
	}
}

// TestUserNamespace checks that a program can run in its own user namespace, without any privilege
// outside, as in a rootless container.
func TestUserNamespace(t *testing.T) {
	c := under(performance(t, "device")...)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	err := c.Run()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this machine allows no user namespaces: %v", err)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestNobody checks that a program without any capability can use the device.
func TestNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("whoever runs this test has no capability either")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Only root can access the test binary where it is.
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	bin := dir + "/program"
	if err := errors.Join(os.WriteFile(bin, b, 0o755), os.Chmod(dir, 0o755), os.Chmod(dir+"/..", 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"device", "look", "netlink", "leak"} {
		c := exec.Command(bin, bin, perform, name, "3")
		c.Args[0], c.Stderr, c.Dir = supervise, os.Stderr, "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
