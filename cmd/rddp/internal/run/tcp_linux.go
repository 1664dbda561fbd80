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
	"github.com/rddp/rddp/cmd/rddp/internal/run/process"
	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/cmd/rddp/internal/run/user"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

// Limits of what a program waits for.
const (
	// plainFor is how long a peer that does not is remembered, and plainMost the most of them.
	plainFor  = time.Minute
	plainMost = 4096
	// drainFor is how long connections have to end after the program. The kernel gives its own as
	// much.
	drainFor = time.Minute
)

// connections are the TCP connections of the program that go over DDP: those that it makes, and, in
// accept_linux.go, those that it accepts.
//
// The call connect waits while this process asks the peer for DDP. If the peer does not have it,
// the call continues, and the socket was never touched. Otherwise the program's own socket is
// connected to this process over loopback, so that all about the descriptor stays as it is, and
// this process carries bytes.
type connections struct {
	program   *seccomp.Program
	rules     []rules.Rule // for connections that the program makes
	listeners []rules.Rule // for its listeners
	log       *slog.Logger
	timeout   time.Duration      // how long a connect waits to learn whether the peer speaks DDP
	sniffFor  time.Duration      // how long the peer of a listener has to begin
	network   uint64             // the cookie of this process's network namespace
	tls       func() *tls.Config // for the next connection that the program makes
	secure    bool               // connections over DDP have TLS
	plainToo  bool               // connections without DDP, and so without TLS, are allowed
	insecure  bool               // listeners beyond loopback too may be without TLS
	acceptor  *proxy.Acceptor
	counts    *TCPCounts

	ctx      context.Context // of what is carried
	end      context.CancelFunc
	begin    context.Context // of what is only beginning: done when the program has ended
	ended    context.CancelFunc
	relays   sync.WaitGroup // connections, and calls
	deciding sync.WaitGroup // arrivals
	arrivals chan *arrival

	place4 meetingPlace
	place6 meetingPlace

	looks     looks
	accepting locks.Mutex[locks.Leaf] // held while a listener may have another flag than the program has given it

	mu locks.Mutex[locks.Leaf]
	// by the cookie of the program's socket
	taken map[uint64]*taken // +checklocks:mu
	// peers that speak no DDP, and until when that is believed
	plain map[netip.AddrPort]time.Time // +checklocks:mu
	// by the source address of its token: what waits in the queue of a listener
	tokens map[netip.AddrPort]*arrival // +checklocks:mu
	// the program's listeners that may share their port, by inode
	own map[uint32]struct{} // +checklocks:mu
	// by the listener: what waits for an accept without a token
	kept map[uint32][]*arrival // +checklocks:mu

	sharedOnce [groups]sync.Once // by the group: the first listener is told of that shares its port, or may do so
	// user.Listeners, if no test has another one
	allListeners func() ([]user.Listener, error)
}

// A taken is a connection that is, or may become, one over DDP.
type taken struct {
	cookie      uint64         // of the program's socket
	decided     chan struct{}  // closed when it is one, or never will be
	local, peer netip.AddrPort // as the program sees them

	// The rest is valid when decided is closed.
	carried  bool
	answered bool // a connection that is not carried: its connect ends with errno, and does not continue
	errno    syscall.Errno
}

// newConnections returns nil if there are no rules.
func newConnections(cfg Config) (*connections, error) {
	if len(cfg.TCP) == 0 && len(cfg.TCPListen) == 0 {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	t := &connections{
		rules: cfg.TCP, listeners: cfg.TCPListen, log: cfg.Log, timeout: cmp.Or(cfg.TCPTimeout, DefaultTCPTimeout),
		sniffFor: cmp.Or(cfg.sniffFor, sniffFor),
		tls:      cfg.ClientTLS, secure: cfg.ClientTLS != nil || cfg.ServerTLS != nil, insecure: cfg.Insecure,
		taken: make(map[uint64]*taken), plain: make(map[netip.AddrPort]time.Time), tokens: make(map[netip.AddrPort]*arrival),
		own: make(map[uint32]struct{}), kept: make(map[uint32][]*arrival),
		place4: meetingPlace{ip: net.IPv4(127, 0, 0, 1)}, place6: meetingPlace{ip: net.IPv6loopback},
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

// calls returns for which connections calls are to be answered.
func (t *connections) calls() (of seccomp.TCP) {
	if t != nil && len(t.rules) > 0 {
		of |= seccomp.Made
	}
	if t != nil && len(t.listeners) > 0 {
		of |= seccomp.Accepted
	}
	return of
}

// answer answers a call for TCP connections. It reports false if the call is to continue.
func (t *connections) answer(c *seccomp.Call) bool {
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
		t.relays.Go(func() { t.connect(c, to) })
		return true
	case seccomp.Listen:
		t.relays.Go(func() { t.listen(c) })
		return true
	case seccomp.Accept, seccomp.Accept4:
		t.relays.Go(func() { t.accept(c) })
		return true
	case seccomp.GetPeerName, seccomp.GetSockName:
		return t.name(c)
	case seccomp.SendTo, seccomp.SendMsg, seccomp.SendMMsg:
		return t.fastOpen(c)
	case seccomp.Connect32, seccomp.Listen32, seccomp.SocketCall32:
		return t.call32(c)
	case seccomp.URingSetup:
		t.log.Warn("what the program does by io_uring stays untouched", "thread", c.Thread)
	}
	return false
}

// notLent reports a call of a process that does not lend its descriptors or its memory, so that it
// is not even known whether a rule has chosen the connection.
func (t *connections) notLent(call string, thread int, err error) {
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

// chosen reports whether a rule has chosen connections to an address, and returns the address to
// which they go: no address means loopback, to a program that connects.
func (t *connections) chosen(to netip.AddrPort) (netip.AddrPort, bool) {
	if !to.Addr().Unmap().IsUnspecified() {
		return to, match(t.rules, to)
	}
	here := netip.AddrPortFrom(loopback(to), to.Port())
	return here, match(t.rules, to) || match(t.rules, here)
}

// connect answers a connect to an address that a rule has chosen.
func (t *connections) connect(c *seccomp.Call, to netip.AddrPort) {
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
	unix.Close(fd) // or the program's close would not end the connection
	if answered {
		t.program.Answer(c, 0, errno)
	} else {
		t.program.Continue(c)
	}
}

// take connects the socket over DDP, if that is possible. It reports false if the call is to
// continue.
func (t *connections) take(fd int, to netip.AddrPort) (errno syscall.Errno, answered bool) {
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
	for !first { // another thread connects the socket, or a signal has made the program call again
		<-k.decided
		if closed, err := isClosed(fd); !k.carried || !closed || err != nil {
			return k.errno, k.answered
		}
		// The program has ended that connection, or its peer has, and connects the socket anew.
		k, first = t.enter(cookie, to, k)
	}
	half, err := t.dial(to)
	if err == nil {
		return t.join(fd, k, half)
	}
	k.errno, k.answered = t.without(to, tlshandshake.Brief(err))
	t.leave(k)
	return k.errno, k.answered
}

// without decides about a connect after err has kept it from going over DDP. It reports false if
// the call is to continue.
func (t *connections) without(to netip.AddrPort, err error) (errno syscall.Errno, answered bool) {
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

// refusal returns the error with which connect fails, if only a connection in TLS would have done.
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

// enter notes that a socket may become a connection over DDP, in the place of a connection of
// before that is over, if there is one. first is false if another one is noted already.
func (t *connections) enter(cookie uint64, to netip.AddrPort, over *taken) (k *taken, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.taken[cookie]; k != nil && k != over {
		return k, false
	}
	k = &taken{cookie: cookie, decided: make(chan struct{}), peer: to}
	t.taken[cookie] = k
	return k, true
}

// leave forgets a socket that has not become a connection over DDP. The caller has said in k what
// its connect returns.
func (t *connections) leave(k *taken) {
	t.forget(k)
	close(k.decided)
}

// forget forgets a connection, unless its socket has become another one.
func (t *connections) forget(k *taken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[k.cookie] == k {
		delete(t.taken, k.cookie)
	}
}

// untouched reports a connection that a rule has chosen, but that cannot be taken over. It is
// refused if connections without TLS are not allowed.
func (t *connections) untouched(to netip.AddrPort, why error) (errno syscall.Errno, refused bool) {
	t.counts.Untouched.Add(1)
	if t.plainToo {
		t.log.Warn("connection stays untouched", "to", to, "why", why)
		return 0, false
	}
	t.log.Warn("connection refused, because without TLS it must not be", "to", to, "why", why)
	return syscall.ECONNREFUSED, true
}

// dial connects to a peer that speaks DDP.
func (t *connections) dial(to netip.AddrPort) (*proxy.Half, error) {
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

// speaksNoDDP reports whether a peer has answered something else than DDP, or nothing.
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

// join connects the program's socket with the connection over DDP, and carries what goes over it.
func (t *connections) join(fd int, k *taken, half *proxy.Half) (syscall.Errno, bool) {
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
		s := half.Carry(t.ctx, near)
		t.forget(k)
		t.log.Info("connection has ended", endOf(&s, "to", k.peer)...)
	})
	// The kernel completes a connect that blocks, as if it had waited. One that does not is about
	// to succeed.
	return syscall.EINPROGRESS, !blocks
}

// name answers getpeername and getsockname for a connection over DDP.
func (t *connections) name(c *seccomp.Call) bool {
	t.mu.Lock()
	none := len(t.taken) == 0
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
	k := t.taken[cookie]
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
	t.program.Answer(c, 0, writeAddress(waitingIn(t.program, c), a, domain, c.Args[1], c.Args[2]))
	return true
}

// drain waits until what the program has written has arrived, and tells what there was.
func (t *connections) drain() {
	t.ended()
	timer := time.AfterFunc(drainFor, t.end)
	t.relays.Wait()
	timer.Stop()
	t.end()
	t.deciding.Wait()
	t.place4.close()
	t.place6.close()
	t.log.Info("TCP connections", "ddp", t.counts.DDP.Load(), "plain", t.counts.Plain.Load(), "untouched", t.counts.Untouched.Load())
}
