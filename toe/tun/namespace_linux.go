package tun

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Namespace is a network namespace with nothing in it but a loopback interface, which is up. It
// exists until Close is called and all its sockets and devices are closed. Its methods may be
// called by several goroutines at once, but not after Close.
type Namespace struct{ file *os.File }

// NewNamespace makes a network namespace. It needs CAP_SYS_ADMIN.
func NewNamespace() (*Namespace, error) {
	var n *Namespace
	err := onThread(func() (err error) {
		n, err = newNamespace()
		return err
	})
	return n, err
}

// newNamespace moves the current thread to a new network namespace.
func newNamespace() (*Namespace, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fail("unshare(CLONE_NEWNET)", "CAP_SYS_ADMIN", err)
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fail("open of /proc/thread-self/ns/net", "CAP_SYS_ADMIN", err)
	}
	n := &Namespace{os.NewFile(uintptr(fd), "network namespace")}
	if err := loopbackUp(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail("socket", "CAP_NET_ADMIN", err)
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING | unix.IFF_LOOPBACK)
	return fail("ioctl SIOCSIFFLAGS", "CAP_NET_ADMIN", unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r))
}

// Do calls f on a thread in the namespace and returns its error. Sockets and devices that f itself
// makes belong to the namespace for good, and so do connections that a listener made by f accepts.
// Goroutines that f starts run outside the namespace. Do needs CAP_SYS_ADMIN.
func (n *Namespace) Do(f func() error) error {
	return onThread(func() error {
		err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET)
		runtime.KeepAlive(n.file)
		if err != nil {
			return fail("setns", "CAP_SYS_ADMIN", err)
		}
		return f()
	})
}

// Close releases the namespace.
func (n *Namespace) Close() error { return n.file.Close() }

// errGoexit is the error of Do when f ends its goroutine, for example by t.Fatal.
var errGoexit = errors.New("tun: the function did not return")

// onThread calls f on a new thread, which may leave its namespace because the thread ends with f.
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the runtime ends the thread
		if unix.Gettid() == unix.Getpid() {
			// The runtime never ends the main thread, whose namespace is that of /proc/net. While
			// it is locked here, another thread runs f.
			result <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		err := errGoexit
		defer func() { result <- err }()
		err = f()
	}()
	return <-result
}
