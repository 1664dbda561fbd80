//go:build amd64 || arm64

package run

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/softrnic/user"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

// Limits for TCP connections.
const (
	// plainFor is how long a peer that does not speak DDP is remembered, and plainMost the maximum
	// number of such peers.
	plainFor  = time.Minute
	plainMost = 4096
	// drainFor is how long connections may last after the program has ended, as with the kernel's
	// own connections.
	drainFor = time.Minute
)

// A tcpRelay carries TCP connections of the program over DDP: those that the program makes and, in
// accept_linux.go, those that it accepts.
//
// The program's connect waits while this process asks the peer for DDP. If the peer does not speak
// it, the call continues, and the socket is untouched. Otherwise this process connects the
// program's socket to itself over loopback and copies the bytes, so the program keeps its
// descriptor.
type tcpRelay struct {
	program   *seccomp.Program
	rules     []rules.Rule // for connections that the program makes
	listeners []rules.Rule // for the program's listeners
	log       *slog.Logger
	timeout   time.Duration      // how long a connect waits to learn whether the peer speaks DDP
	sniffFor  time.Duration      // how long the peer of a listener has to begin
	network   uint64             // the cookie of this process's network namespace
	tls       func() *tls.Config // for the next connection that the program makes
	secure    bool               // connections over DDP use TLS
	plainToo  bool               // connections without DDP, and so without TLS, are allowed
	insecure  bool               // even listeners that other hosts can reach may lack TLS
	acceptor  *proxy.Acceptor
	counts    *TCPCounts

	ctx      context.Context // for established connections
	end      context.CancelFunc
	begin    context.Context // for connections that are starting up: done when the program has ended
	ended    context.CancelFunc
	relays   sync.WaitGroup // connections and calls
	deciding sync.WaitGroup // arrivals
	arrivals chan *arrival

	loopback4 meetingPlace
	loopback6 meetingPlace

	pollers   signalPollers
	accepting locks.Mutex[locks.Leaf] // held while acceptNow may have changed a listener's O_NONBLOCK flag

	mu locks.Mutex[locks.Leaf]
	// by the cookie of the program's socket
	conns map[uint64]*programConn // +checklocks:mu
	// peers that do not speak DDP, and when to ask again
	plain map[netip.AddrPort]time.Time // +checklocks:mu
	// by the source address of the token: the arrivals in the queues of listeners
	tokens map[netip.AddrPort]*arrival // +checklocks:mu
	// the program's listeners that may share their port, by inode
	own map[uint32]struct{} // +checklocks:mu
	// by the inode of the listener: the arrivals that wait for an accept without a token
	kept map[uint32][]*arrival // +checklocks:mu

	sharedOnce [groups]sync.Once // by group: logs the first listener that shares its port, or may do so
	// user.Listeners, except in tests
	allListeners func() ([]user.Listener, error)
}

// A programConn is a connection of the program that goes over DDP, or may do so once that is
// decided.
type programConn struct {
	cookie      uint64         // of the program's socket
	decided     chan struct{}  // closed when that is decided
	local, peer netip.AddrPort // as the program sees them

	// The rest is valid when decided is closed.
	carried  bool
	answered bool // if not carried: connect returns errno, and does not continue
	errno    syscall.Errno
}

// newTCPRelay returns nil if there are no rules.
func newTCPRelay(cfg Config) (*tcpRelay, error) {
	if len(cfg.TCP) == 0 && len(cfg.TCPListen) == 0 {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	t := &tcpRelay{
		rules: cfg.TCP, listeners: cfg.TCPListen, log: cfg.Log, timeout: cmp.Or(cfg.TCPTimeout, DefaultTCPTimeout),
		sniffFor: cmp.Or(cfg.sniffFor, sniffFor),
		tls:      cfg.ClientTLS, secure: cfg.ClientTLS != nil || cfg.ServerTLS != nil, insecure: cfg.Insecure,
		conns: make(map[uint64]*programConn), plain: make(map[netip.AddrPort]time.Time), tokens: make(map[netip.AddrPort]*arrival),
		own: make(map[uint32]struct{}), kept: make(map[uint32][]*arrival),
		loopback4: meetingPlace{ip: net.IPv4(127, 0, 0, 1)}, loopback6: meetingPlace{ip: net.IPv6loopback},
		arrivals: make(chan *arrival), allListeners: user.Listeners, counts: cmp.Or(cfg.TCPCounts, new(TCPCounts)),
	}
	t.plainToo = !t.secure || cfg.PlainToo
	if t.network, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err != nil {
		return nil, fmt.Errorf("--tcp needs Linux 5.14: %w", err)
	}
	if t.acceptor, err = proxy.NewAcceptor(&proxy.Config{Socket: extsock.Config{TLS: cfg.ServerTLS}}); err != nil {
		return nil, err
	}
	t.ctx, t.end = context.WithCancel(context.Background())
	t.begin, t.ended = context.WithCancel(t.ctx)
	t.deciding.Go(t.serveArrivals)
	return t, nil
}

// calls returns the kinds of connections whose calls must be intercepted.
func (t *tcpRelay) calls() (of seccomp.Calls) {
	if t != nil && len(t.rules) > 0 {
		of |= seccomp.Made
	}
	if t != nil && len(t.listeners) > 0 {
		of |= seccomp.Accepted
	}
	return of
}

// answer answers a call for TCP connections. It returns false if the call must continue.
func (t *tcpRelay) answer(c *seccomp.Call) bool {
	switch c.Kind {
	case seccomp.Connect:
		to, ok, err := readAddress(process.Thread(c.Thread), c.Args[1], uint32(c.Args[2]))
		if err != nil {
			t.notLent("connect", c.Thread, err)
		}
		to, chosen := t.chosen(to)
		if !ok || !chosen {
			return false
		}
		t.later(c, func() { t.connect(c, to) })
		return true
	case seccomp.Listen:
		t.later(c, func() { t.listen(c) })
		return true
	case seccomp.Accept, seccomp.Accept4:
		t.later(c, func() { t.accept(c) })
		return true
	case seccomp.GetPeerName, seccomp.GetSockName:
		return t.name(c)
	case seccomp.SendTo, seccomp.SendMMsg:
		return c.Args[3]&unix.MSG_FASTOPEN != 0 && t.fastOpen(c)
	case seccomp.SendMsg:
		return c.Args[2]&unix.MSG_FASTOPEN != 0 && t.fastOpen(c)
	case seccomp.Connect32, seccomp.Listen32, seccomp.SocketCall32:
		return t.call32(c)
	case seccomp.URingSetup:
		t.log.Warn("what the program does by io_uring stays untouched", "thread", c.Thread)
	}
	return false
}

// notLent logs a call of a process whose descriptors or memory this process may not access. It is
// then not even known whether a rule has chosen the connection.
func (t *tcpRelay) notLent(call string, thread int, err error) {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.log.Warn("the kernel does not let this process look, so the connection stays untouched", "call", call, "thread", thread, "err", err)
	}
}

func match(all []rules.Rule, a netip.AddrPort) bool {
	for _, r := range all {
		if r.Match(a) {
			return true
		}
	}
	return false
}

// chosen reports whether a rule has chosen connections to an address. It also returns the address
// to connect to: the unspecified address means loopback.
func (t *tcpRelay) chosen(to netip.AddrPort) (netip.AddrPort, bool) {
	if !to.Addr().Unmap().IsUnspecified() {
		return to, match(t.rules, to)
	}
	here := netip.AddrPortFrom(loopback(to), to.Port())
	return here, match(t.rules, to) || match(t.rules, here)
}

// connect answers a connect to an address that a rule has chosen.
func (t *tcpRelay) connect(c *seccomp.Call, to netip.AddrPort) {
	fd, err := borrow(c)
	if err != nil {
		if errno, refused := t.untouched(to, err); refused {
			t.program.Answer(c, 0, errno)
			return
		}
		t.program.Continue(c)
		return
	}
	errno, answered := t.take(fd, to)
	unix.Close(fd) // otherwise the program's close would not end the connection
	if answered {
		t.program.Answer(c, 0, errno)
	} else {
		t.program.Continue(c)
	}
}

// take connects the socket over DDP, if that is possible. It returns false if the call must
// continue.
func (t *tcpRelay) take(fd int, to netip.AddrPort) (errno syscall.Errno, answered bool) {
	fresh, err := t.check(fd)
	var cookie uint64
	if err == nil && fresh {
		cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	}
	if err != nil {
		return t.untouched(to, err)
	}
	if !fresh {
		return 0, false
	}
	k, first := t.enter(cookie, to, nil)
	for !first { // another thread is connecting the socket, or the program calls again after a signal
		<-k.decided
		if closed, err := isClosed(fd); !k.carried || !closed || err != nil {
			return k.errno, k.answered
		}
		// The program connects the socket again after that connection has ended.
		k, first = t.enter(cookie, to, k)
	}
	defer func() {
		select {
		case <-k.decided:
		default: // a panic: nobody waits for this connect, and the next one tries anew
			k.errno, k.answered = syscall.EIO, true
			t.leave(k)
		}
	}()
	half, err := t.dial(to)
	if err == nil {
		return t.join(fd, k, half)
	}
	k.errno, k.answered = t.without(to, tlshandshake.Brief(err))
	t.leave(k)
	return k.errno, k.answered
}

// without decides how a connect ends that cannot go over DDP because of err. It returns false if
// the call must continue.
func (t *tcpRelay) without(to netip.AddrPort, err error) (errno syscall.Errno, answered bool) {
	if reject := (*mpa.RejectError)(nil); errors.As(err, &reject) {
		t.log.Warn("the peer rejects the connection", "to", to, "err", err)
		return syscall.ECONNREFUSED, true
	}
	if t.secure && !(t.plainToo && speaksNoDDP(err)) {
		t.log.Warn("connection refused", "to", to, "err", err)
		return refusal(err), true
	}
	t.counts.Plain.Add(1)
	level := slog.LevelInfo
	if errors.Is(err, tlshandshake.ErrTLS) { // the program's own TLS, or this end's is missing
		level = slog.LevelWarn
	}
	t.log.Log(t.ctx, level, "connection without DDP", "to", to, "why", err)
	return 0, false
}

// refusal returns the error with which connect fails if TLS was required.
func refusal(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case isTimeout(err):
		return syscall.ETIMEDOUT
	}
	return syscall.ECONNREFUSED
}

// enter records that a socket may become a connection over DDP. It replaces over, an earlier
// connection of the same socket that has ended. If another connection is already recorded, enter
// returns that, and first is false.
func (t *tcpRelay) enter(cookie uint64, to netip.AddrPort, over *programConn) (k *programConn, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.conns[cookie]; k != nil && k != over {
		return k, false
	}
	k = &programConn{cookie: cookie, decided: make(chan struct{}), peer: to}
	t.conns[cookie] = k
	return k, true
}

// leave removes a socket that has not become a connection over DDP. The caller has set in k the
// result of connect.
func (t *tcpRelay) leave(k *programConn) {
	t.forget(k)
	close(k.decided)
}

// forget removes a connection, unless its socket already has another one.
func (t *tcpRelay) forget(k *programConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns[k.cookie] == k {
		delete(t.conns, k.cookie)
	}
}

// untouched logs that a connection chosen by a rule cannot be taken over. It refuses the connection
// if TLS is required.
func (t *tcpRelay) untouched(to netip.AddrPort, why error) (errno syscall.Errno, refused bool) {
	t.counts.Untouched.Add(1)
	if t.plainToo {
		t.log.Warn("connection stays untouched", "to", to, "why", why)
		return 0, false
	}
	t.log.Warn("connection refused, because without TLS it must not be", "to", to, "why", why)
	return syscall.ECONNREFUSED, true
}

// dial connects to a peer over DDP. It remembers peers that don't speak DDP.
func (t *tcpRelay) dial(to netip.AddrPort) (*proxy.Half, error) {
	t.mu.Lock()
	until, known := t.plain[to]
	t.mu.Unlock()
	if known && time.Now().Before(until) {
		return nil, errPlain
	}
	ctx, cancel := context.WithTimeout(t.begin, t.timeout)
	defer cancel()
	half, err := proxy.Dial(ctx, to.String(), &proxy.Config{Timeout: t.timeout, TLS: t.tls})
	if speaksNoDDP(err) && t.plainToo {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.plain) >= plainMost {
			clear(t.plain)
		}
		t.plain[to] = time.Now().Add(plainFor)
	}
	return half, err
}

// speaksNoDDP reports whether a peer answered with something other than DDP, or not at all.
func speaksNoDDP(err error) bool {
	for _, e := range []error{extsock.ErrNotMPA, extsock.ErrNoReply, tlshandshake.ErrPlain, tlshandshake.ErrSilent, errPlain} {
		if errors.Is(err, e) {
			return true
		}
	}
	return isTimeout(err)
}

var errPlain = errors.New("the peer did not speak DDP a short time ago")

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// join connects the program's socket with the connection over DDP, and starts to copy bytes between
// them.
func (t *tcpRelay) join(fd int, k *programConn, half *proxy.Half) (syscall.Errno, bool) {
	blocks, err := isBlocking(fd)
	var near *net.TCPConn
	if err == nil {
		near, err = t.place(k.peer).meet(fd, blocks)
	}
	if err != nil {
		_ = half.Close()
		t.log.Warn("connection cannot be taken over", "to", k.peer, "err", err)
		k.errno, k.answered = errnoOf(err), true
		t.leave(k)
		return k.errno, true
	}
	if a, ok := half.LocalAddr().(*net.TCPAddr); ok {
		k.local = a.AddrPort()
	}
	k.carried = true
	close(k.decided)
	t.counts.DDP.Add(1)
	t.log.Info("connection over DDP", "from", k.local, "to", k.peer)
	t.relays.Go(func() {
		defer survives(t.log, "a connection of --tcp")
		s := half.Carry(t.ctx, near)
		t.forget(k)
		t.log.Info("connection has ended", endOf(&s, "to", k.peer)...)
	})
	// If the socket blocks, the program's connect continues, and the kernel completes it. Otherwise
	// the program gets EINPROGRESS, and the connect succeeds soon.
	return syscall.EINPROGRESS, !blocks
}

// name answers getpeername and getsockname for a connection over DDP.
func (t *tcpRelay) name(c *seccomp.Call) bool {
	t.mu.Lock()
	none := len(t.conns) == 0
	t.mu.Unlock()
	if none {
		return false
	}
	fd, err := borrow(c)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return false
	}
	t.mu.Lock()
	k := t.conns[cookie]
	t.mu.Unlock()
	if k == nil {
		return false
	}
	select {
	case <-k.decided:
	default:
		return false // another thread is connecting it
	}
	if _, err := unix.Getpeername(fd); err != nil || !k.carried {
		return false
	}
	a := k.peer
	if c.Kind == seccomp.GetSockName {
		a = k.local
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return false
	}
	t.program.Answer(c, 0, writeAddress(threadMemoryOf(t.program, c), a, domain, c.Args[1], c.Args[2]))
	return true
}

// drain waits until all that the program has written has been delivered, and logs the counts.
func (t *tcpRelay) drain() {
	t.ended()
	timer := time.AfterFunc(drainFor, t.end)
	t.relays.Wait()
	timer.Stop()
	t.end()
	t.deciding.Wait()
	t.loopback4.close()
	t.loopback6.close()
	t.log.Info("TCP connections", "ddp", t.counts.DDP.Load(), "plain", t.counts.Plain.Load(), "untouched", t.counts.Untouched.Load())
}
