//go:build amd64 || arm64

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

// Connections that the program accepts.
//
// The listener remains the program's: its port, its lifetime, and the way the program is woken when
// a connection arrives. This process answers only accept: it accepts in the program's place and
// looks at the first bytes. It passes a connection in plain TCP to the program unchanged. For a
// connection over DDP, the program gets one end of a loopback connection, and this process copies
// the bytes between the two.
//
// With TCP_DEFER_ACCEPT, the kernel holds a connection back until its first bytes have arrived, so
// accept finds them. If it doesn't, the connection leaves the queue and becomes an arrival.

// deferFor is the time in seconds that the kernel waits for the first bytes of a connection.
const deferFor = 1

// listen answers a listen: it prepares the listener if a rule has chosen it.
func (t *tcpRelay) listen(c *seccomp.Call) {
	fd, err := borrow(c)
	if err != nil {
		t.notLent("listen", c.Thread, err)
		t.program.Continue(c)
		return
	}
	at, chosen, err := t.listener(fd)
	if chosen && err == nil {
		t.sourceOf(fd)
		t.log.Info("listener for DDP", "at", at, "tls", t.secure)
		if err := deferAccept(fd); err != nil {
			t.log.Warn("each connection costs more than it should", "listener", at, "err", err)
		}
	}
	unix.Close(fd) // before the answer: the program may close the listener, and want its port again
	if chosen && err != nil && t.untouchedListener(c, at, err) {
		return
	}
	t.program.Continue(c)
}

// untouchedListener logs that a listener chosen by a rule cannot be taken over. If connections
// without TLS are not allowed, it answers the call with an error and returns true.
func (t *tcpRelay) untouchedListener(c *seccomp.Call, at netip.AddrPort, why error) (answered bool) {
	if t.plainToo {
		t.log.Warn("listener stays untouched", "at", at, "why", why)
		return false
	}
	t.log.Warn("listener is refused, because without TLS it must not be", "at", at, "why", why)
	t.program.Answer(c, 0, syscall.EACCES)
	return true
}

var errBeyond = errors.New("other hosts could connect without TLS: give --tls-self, or --tls-cert and --tls-key, or --insecure")

// listener returns the address of a TCP listener, and whether a rule has chosen it. The error says
// why such a listener cannot be taken over.
func (t *tcpRelay) listener(fd int) (at netip.AddrPort, chosen bool, err error) {
	p, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if err != nil || p != unix.IPPROTO_TCP && p != unix.IPPROTO_MPTCP {
		return at, false, nil
	}
	if at, err = localAddress(fd); err != nil || !match(t.listeners, at) {
		return at, false, nil
	}
	if err = t.isHere(fd); err == nil && !t.secure && !t.insecure && !at.Addr().Unmap().IsLoopback() {
		err = errBeyond
	}
	return at, true, err
}

// deferAccept makes the kernel hold a listener's connections back until their first bytes have
// arrived.
func deferAccept(fd int) error {
	if s, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT); err != nil || s != 0 {
		return err // the program has set it
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, deferFor)
}

// accept answers an accept.
func (t *tcpRelay) accept(c *seccomp.Call) {
	thread, err := openProcess(c.Thread)
	if err != nil {
		t.notLent("accept", c.Thread, err)
		t.program.Continue(c)
		return
	}
	defer unix.Close(thread)
	fd, err := unix.PidfdGetfd(thread, int(int32(c.Args[0])), 0)
	if err != nil {
		t.notLent("accept", c.Thread, err)
		t.program.Continue(c)
		return
	}
	defer unix.Close(fd)
	at, chosen, err := t.listener(fd)
	if err != nil && !t.plainToo {
		t.log.Warn("no connection is accepted, because without TLS it must not be", "at", at, "why", err)
		t.program.Answer(c, 0, syscall.EPERM)
		return
	}
	if !chosen || err != nil || acceptFlags(c)&^(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK) != 0 {
		t.program.Continue(c)
		return
	}
	if errno := t.acceptFrom(c, fd, thread); errno != 0 {
		t.program.Answer(c, 0, errno)
	}
}

// acceptFlags returns the flags for the new descriptor.
func acceptFlags(c *seccomp.Call) int {
	if c.Kind == seccomp.Accept4 {
		return int(int32(c.Args[3]))
	}
	return 0
}

// acceptFrom accepts a connection from a listener and gives it to the program. If there is none, it
// waits as the kernel would. It returns 0 if it has answered the call.
func (t *tcpRelay) acceptFrom(c *seccomp.Call, listener, thread int) syscall.Errno {
	var deadline time.Time
	s := t.sourceOf(listener)
	for {
		if a := t.takeKept(s); a != nil {
			return t.give(c, a)
		}
		fd, from, blocks, errno := t.acceptOnce(listener)
		switch {
		case errno == 0:
			if a := t.arrived(fd, from, s); a != nil {
				return t.give(c, a)
			}
		case errno == unix.ECONNABORTED && c.Args[1] == 0: // the kernel would not report this yet
		case errno != unix.EAGAIN || !blocks:
			return errno
		default:
			if deadline.IsZero() {
				deadline = acceptDeadline(listener)
			}
			if errno := t.awaitConnection(c.Thread, listener, thread, deadline, func() bool { return t.hasKept(s) }); errno != 0 {
				return errno
			}
		}
	}
}

// acceptOnce accepts a connection if there is one. blocks says whether the program would wait for
// one. acceptOnce changes the listener's O_NONBLOCK flag for a moment, so it holds the lock.
func (t *tcpRelay) acceptOnce(listener int) (fd int, from netip.AddrPort, blocks bool, errno syscall.Errno) {
	t.accepting.Lock()
	defer t.accepting.Unlock()
	return acceptNow(listener)
}

// acceptNow is acceptOnce for callers that hold the lock.
func acceptNow(listener int) (fd int, from netip.AddrPort, blocks bool, errno syscall.Errno) {
	blocks, err := isBlocking(listener)
	if err == nil && blocks {
		err = setBlocking(listener, false)
		defer func() { _ = setBlocking(listener, true) }()
	}
	if err != nil {
		return -1, from, blocks, errnoOf(err)
	}
	var b [len6]byte
	n := uint32(len(b))
	got, _, e := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), uintptr(unsafe.Pointer(&b)), uintptr(unsafe.Pointer(&n)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if e != 0 {
		return -1, from, blocks, e
	}
	from, _ = parseAddress(b[:min(n, len6)])
	return int(got), from, blocks, 0
}

// acceptDeadline returns when an accept of a listener ends without a connection.
func acceptDeadline(listener int) time.Time {
	tv, err := unix.GetsockoptTimeval(listener, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	if err != nil || tv.Nano() == 0 {
		const never = 100 * 365 * 24 * time.Hour
		return time.Now().Add(never)
	}
	return time.Now().Add(time.Duration(tv.Nano()))
}

// awaitConnection waits until a listener has a connection, or one is kept for it. If the thread's
// accept must end first, it returns the error for it.
func (t *tcpRelay) awaitConnection(tid, listener, thread int, deadline time.Time, isKept func() bool) syscall.Errno {
	t.pollers.enter()
	defer t.pollers.leave()
	looked := time.Now()
	p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(thread), Events: unix.POLLIN}}
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return unix.EAGAIN
		}
		n, err := unix.Poll(p, int(min(left+time.Millisecond, signalPoll).Milliseconds()))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return errnoOf(err)
		case n > 0 && p[1].Revents != 0:
			return unix.ESRCH // the thread has ended
		case n > 0, isKept():
			return 0
		}
		if time.Since(looked) < t.pollers.interval() {
			continue
		}
		if errno := interruption(tid); errno != 0 {
			return errno
		}
		looked = time.Now()
	}
}

// interruption returns the error with which a signal ends a waiting call, or 0.
func interruption(tid int) syscall.Errno {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return unix.ESRCH
	}
	mask := func(name string) uint64 { v, _ := field(b, name, 16); return v }
	const stops = 1<<(unix.SIGSTOP-1) | 1<<(unix.SIGTSTP-1) | 1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1)
	acts := (mask("SigCgt:") | stops&^mask("SigIgn:")) &^ mask("SigBlk:")
	threads, _ := field(b, "Threads:", 10)
	switch own, shared := mask("SigPnd:")&acts, mask("ShdPnd:")&acts; {
	case own != 0 || shared != 0 && threads == 1:
		return restart
	case shared != 0: // another thread may take the signal, and then the kernel would not translate ERESTARTSYS
		return unix.EINTR
	}
	return 0
}

// A protocol is what the peer of an accepted connection speaks.
type protocol int

const (
	unknown protocol = iota // too little has arrived
	plain                   // anything other than DDP, or silence for too long
	overMPA                 // DDP without TLS
	overTLS                 // TLS, in which there may be DDP
)

// look returns the protocol of a connection by its first bytes, which stay unread. It looks for TLS
// only if this end uses TLS; otherwise TLS belongs to the program.
func look(fd int, secure bool) protocol {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, 0); err != nil || n == 0 {
		return unknown
	}
	if p[0].Revents&unix.POLLERR != 0 {
		return plain // the program will see the error
	}
	b := mpa.Key(false) // for its length
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil || n == 0 {
		return plain
	}
	return judge(b[:n], secure)
}

// judge returns the protocol that begins with b.
func judge(b []byte, secure bool) protocol {
	request := mpa.Key(false)
	hello := []byte{0x16, 3} // the record type handshake, and the first byte of each version since SSL 3
	is := func(p []byte) bool { return bytes.HasPrefix(b, p) }
	may := func(p []byte) bool { return bytes.HasPrefix(p, b) }
	switch {
	case secure && is(hello):
		return overTLS
	case is(request[:]):
		return overMPA
	case may(request[:]), secure && may(hello):
		return unknown
	}
	return plain
}

// give passes a connection to the program that called accept. It returns 0 if it has answered the
// call.
func (t *tcpRelay) give(c *seccomp.Call, a *arrival) syscall.Errno {
	fd, near, err := t.programEnd(a)
	if err != nil {
		t.log.Warn("connection cannot be taken over", "from", a.peer, "err", err)
		a.close()
		return unix.ECONNABORTED
	}
	defer func() {
		if near != nil {
			unix.Close(fd) // or the program's close would not end the connection
		}
	}()
	flags := acceptFlags(c)
	if err := setBlocking(fd, flags&unix.SOCK_NONBLOCK == 0); err != nil {
		a.drop(near)
		return errnoOf(err)
	}
	if c.Args[1] != 0 {
		if errno := writeAddress(threadMemoryOf(t.program, c), a.peer, a.domain, c.Args[1], c.Args[2]); errno != 0 {
			a.drop(near)
			return errno
		}
	}
	var k *programConn
	if near != nil {
		if k, err = t.enterAccepted(fd, a); err != nil {
			a.drop(near)
			return errnoOf(err)
		}
	}
	why := t.whyPlain(a)
	n, err := t.program.AddFD(c, fd, -1, flags&unix.SOCK_CLOEXEC != 0)
	if err != nil {
		return t.notGiven(a, near, k, err)
	}
	t.program.Answer(c, int64(n), 0)
	if near == nil {
		a.close() // the program has a copy
		t.counts.Plain.Add(1)
		t.log.Info("accepted in plain TCP", "from", a.peer, "at", a.local, "why", why)
		return 0
	}
	t.relays.Go(func() { t.carryAccepted(a, near, k) })
	return 0
}

// whyPlain returns, for the log, the reason why the program gets a connection in plain TCP. If the
// peer began TLS, it may be the program's own TLS, or this end has none configured.
func (t *tcpRelay) whyPlain(a *arrival) error {
	switch {
	case a.speaks != plain || !t.log.Enabled(t.ctx, slog.LevelInfo):
		return nil
	case !t.secure && look(a.fd, true) == overTLS:
		return tlshandshake.ErrTLS
	}
	return errNoDDP
}

var errNoDDP = errors.New("the peer does not begin in DDP")

// notGiven handles a connection that the program could not receive. If the program was out of
// descriptors, the connection goes back to the queue; otherwise it is closed.
func (t *tcpRelay) notGiven(a *arrival, near *net.TCPConn, k *programConn, err error) syscall.Errno {
	if near != nil {
		t.forget(k)
		abort(near)
	}
	errno := errnoOf(err)
	if errno == unix.EMFILE || errno == unix.ENFILE {
		t.arrive(a)
	} else {
		a.close()
	}
	return errno
}

// programEnd returns the descriptor for the program. If the connection is over DDP, the descriptor
// is one end of a loopback connection, and near is this process's end.
func (t *tcpRelay) programEnd(a *arrival) (fd int, near *net.TCPConn, err error) {
	if a.speaks == plain {
		return a.fd, nil, nil
	}
	fd, err = unix.Socket(a.domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, nil, err
	}
	a.options.set(fd)
	if a.domain == unix.AF_INET6 {
		// The meeting place has an IPv4 address, which an IPV6_V6ONLY socket cannot reach.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0) // if it fails, so does the next call
	}
	if near, err = t.loopback4.meet(fd, false); err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, near, nil
}

// enterAccepted records the addresses of a connection over DDP, for the program's getpeername and
// getsockname.
func (t *tcpRelay) enterAccepted(fd int, a *arrival) (k *programConn, err error) {
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return nil, err
	}
	k = &programConn{cookie: cookie, decided: make(chan struct{}), local: a.local, peer: a.peer, carried: true}
	close(k.decided)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns[cookie] = k
	return k, nil
}

// carryAccepted carries the bytes of a connection over DDP.
func (t *tcpRelay) carryAccepted(a *arrival, near *net.TCPConn, k *programConn) {
	defer survives(t.log, "a connection of --tcp-listen")
	defer t.forget(k)
	if err := t.startUp(t.begin, a); err != nil {
		t.log.Info("no connection over DDP", "from", a.peer, "at", a.local, "err", err)
		abort(near)
		return
	}
	t.counts.DDP.Add(1)
	t.log.Info("accepted over DDP", "from", a.peer, "at", a.local)
	s := a.half.Carry(t.ctx, near)
	t.log.Info("connection has ended", endOf(&s, "from", a.peer)...)
}

// endOf returns the log attributes for a connection that has ended: the peer, under the key end,
// the byte counts, and the error if there is one.
func endOf(s *proxy.Summary, end string, peer any) []any {
	about := []any{end, peer, "there", s.There, "back", s.Back}
	if s.Err != nil {
		about = append(about, "err", s.Err)
	}
	return about
}

// startUp runs the startup of DDP on the connection, unless it is already done.
func (t *tcpRelay) startUp(ctx context.Context, a *arrival) (err error) {
	if a.half != nil {
		return nil
	}
	f := os.NewFile(uintptr(a.fd), "connection")
	a.fd = -1
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return err
	}
	a.half, err = t.acceptor.Answer(ctx, conn)
	return err
}

// abort resets a connection.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0) // otherwise the peer sees an orderly end
	c.Close()
}
