//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package extsock

import "syscall"

// A mirror is a socket that shows what a Read of a connection would return. It is for programs that
// ask for a descriptor of a connection that has none, and exists only while the program looks.
type mirror struct {
	near, far int // near is the program's, and far writes to it; -1: closed
	shown     int // bytes in near
	reset     bool
}

// newMirror returns a mirror with data, and with the end behind it, or a reset.
func newMirror(data []byte, ended, reset bool) (*mirror, error) {
	syscall.ForkLock.RLock() // no child process gets the descriptors
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	m := &mirror{near: pair[0], far: pair[1], reset: reset}
	if err = syscall.SetNonblock(m.near, true); err == nil {
		err = syscall.SetNonblock(m.far, true)
	}
	if err == nil && len(data) > 0 {
		m.shown, err = again(func() (int, error) { return syscall.Write(m.far, data) })
	}
	switch {
	case err != nil || m.shown < len(data):
	case reset: // what is unread at far makes its close a reset
		_, _ = syscall.Write(m.near, []byte{0})
		syscall.Close(m.far)
		m.far = -1
	case ended:
		_ = syscall.Shutdown(m.far, syscall.SHUT_WR)
	}
	_ = syscall.Shutdown(m.near, syscall.SHUT_WR) // what the program wrote would go nowhere
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *mirror) fd() uintptr { return uintptr(m.near) }

// close closes the mirror. It returns how many bytes the program has read, and whether it has seen
// the reset.
func (m *mirror) close() (used int, told bool) {
	used = m.shown
	var b [4096]byte
	n, err := 1, error(nil)
	for n > 0 && err == nil {
		n, err = again(func() (int, error) { return syscall.Read(m.near, b[:]) })
		used -= max(n, 0)
	}
	told = m.reset && err == nil && used == m.shown
	syscall.Close(m.near)
	if m.far >= 0 {
		syscall.Close(m.far)
	}
	return max(used, 0), told
}

// again calls f until no signal interrupts it.
func again(f func() (int, error)) (n int, err error) {
	for {
		if n, err = f(); err != syscall.EINTR { //nolint:errorlint // as package syscall returns it
			return n, err
		}
	}
}
