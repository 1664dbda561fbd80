//go:build amd64 || arm64

package run

import (
	"cmp"
	"context"
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
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
)

// Limits of what a program waits for.
const (
	// meetTimeout bounds the connection of the program with this process.
	meetTimeout = 5 * time.Second
	// plainFor is how long a peer that does not is remembered, and plainMost the most of them.
	plainFor  = time.Minute
	plainMost = 4096
	// drainFor is how long connections have to end after the program. The kernel gives its own as much.
	drainFor = time.Minute
)

// connections are the TCP connections of the program that go over DDP.
//
// The call connect waits while this process asks the peer for DDP. If the peer does not have it, the call
// continues, and the socket was never touched. Otherwise the program's own socket is connected to this
// process over loopback, so that all about the descriptor stays as it is, and this process carries bytes.
type connections struct {
	program *seccomp.Program
	rules   []rules.Rule
	log     *slog.Logger
	timeout time.Duration // how long a connect waits to learn whether the peer speaks DDP
	network uint64        // the cookie of this process's network namespace

	ctx    context.Context // of what is carried
	end    context.CancelFunc
	relays sync.WaitGroup

	mu sync.Mutex
	// by the cookie of the program's socket
	taken map[uint64]*taken // +checklocks:mu
	// peers that speak no DDP, and until when that is believed
	plain map[netip.AddrPort]time.Time // +checklocks:mu
	// how many connections there have been
	counts [fates]int // +checklocks:mu
}

// A taken is a connection that is, or may become, one over DDP.
type taken struct {
	decided     chan struct{}  // closed when it is one, or never will be
	local, peer netip.AddrPort // as the program sees them
	carried     bool           // valid when decided is closed
}

// newConnections returns nil if there are no rules.
func newConnections(cfg Config) (*connections, error) {
	if len(cfg.TCP) == 0 {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	t := &connections{
		rules: cfg.TCP, log: cfg.Log, timeout: cmp.Or(cfg.TCPTimeout, DefaultTCPTimeout),
		taken: make(map[uint64]*taken), plain: make(map[netip.AddrPort]time.Time),
	}
	if t.network, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err != nil {
		return nil, fmt.Errorf("--tcp needs Linux 5.14: %w", err)
	}
	t.ctx, t.end = context.WithCancel(context.Background())
	return t, nil
}

// answer answers a call for TCP connections. It reports false if the call is to continue.
func (t *connections) answer(c *seccomp.Call) bool {
	switch c.Kind {
	case seccomp.Connect:
		to, ok := readAddress(process.Thread(c.Thread), c.Args[1], uint32(c.Args[2]))
		if !ok || !t.match(to) {
			return false
		}
		t.relays.Go(func() { t.connect(c, to) })
		return true
	case seccomp.GetPeerName, seccomp.GetSockName:
		return t.name(c)
	case seccomp.URingSetup:
		t.log.Warn("what the program does by io_uring stays untouched", "thread", c.Thread)
	}
	return false
}

func (t *connections) match(a netip.AddrPort) bool {
	for _, r := range t.rules {
		if r.Match(a) {
			return true
		}
	}
	return false
}

// connect answers a connect to an address that a rule has chosen.
func (t *connections) connect(c *seccomp.Call, to netip.AddrPort) {
	fd, err := borrow(c)
	if err != nil {
		t.untouched(to, err)
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

// take connects the socket over DDP, if that is possible. It reports false if the call is to continue.
func (t *connections) take(fd int, to netip.AddrPort) (errno syscall.Errno, answered bool) {
	fresh, err := t.check(fd)
	if err != nil {
		t.untouched(to, err)
	}
	if !fresh || err != nil {
		return 0, false
	}
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		t.untouched(to, err)
		return 0, false
	}
	k, first := t.enter(cookie, to)
	if !first { // a signal has made the program call again
		<-k.decided
		return 0, false
	}
	onward, err := t.dial(to)
	if err == nil {
		return t.join(fd, cookie, k, onward)
	}
	t.leave(cookie, k)
	if reject := (*mpa.RejectError)(nil); errors.As(err, &reject) {
		t.log.Warn("the peer rejects the connection", "to", to, "err", err)
		return syscall.ECONNREFUSED, true
	}
	t.count(overPlain)
	t.log.Info("connection without DDP", "to", to, "why", err)
	return 0, false
}

// enter notes that a socket may become a connection over DDP. first is false if that is noted already.
func (t *connections) enter(cookie uint64, to netip.AddrPort) (k *taken, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.taken[cookie]; k != nil {
		return k, false
	}
	k = &taken{decided: make(chan struct{}), peer: to}
	t.taken[cookie] = k
	return k, true
}

// leave forgets a socket that has not become a connection over DDP.
func (t *connections) leave(cookie uint64, k *taken) {
	t.forget(cookie)
	close(k.decided)
}

func (t *connections) forget(cookie uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, cookie)
}

// A fate is what became of a connection that a rule has chosen.
type fate int

const (
	overDDP   fate = iota
	overPlain      // the peer does not speak DDP
	untouched      // it cannot be taken over
	fates
)

func (t *connections) count(f fate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[f]++
}

// untouched reports a connection that a rule has chosen, but that cannot be taken over.
func (t *connections) untouched(to netip.AddrPort, why error) {
	t.count(untouched)
	t.log.Warn("connection stays untouched", "to", to, "why", why)
}

var (
	errBound     = errors.New("the program has bound the socket before connect")
	errNamespace = errors.New("the program is in another network namespace than rddp run")
	errDevice    = errors.New("the program has bound the socket to an interface")
)

// check reports whether the socket is one of TCP that is not connected yet. The error says why such a
// socket cannot be taken over.
func (t *connections) check(fd int) (fresh bool, err error) {
	if p, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL); err != nil || p != unix.IPPROTO_TCP {
		return false, nil // UDP, or no socket at all, about which the kernel has the right error
	}
	const closed = 7 // TCP_CLOSE
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.State != closed {
		return false, err
	}
	network, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return false, err
	}
	if network != t.network {
		return false, errNamespace
	}
	if device, err := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE); err != nil || device != "" {
		return false, errDevice
	}
	local, err := localAddress(fd)
	if err == nil && (local.Port() != 0 || !local.Addr().IsUnspecified()) {
		err = errBound
	}
	return err == nil, err
}

// dial connects to a peer that speaks DDP.
func (t *connections) dial(to netip.AddrPort) (*proxy.Onward, error) {
	t.mu.Lock()
	until, known := t.plain[to]
	t.mu.Unlock()
	if known && time.Now().Before(until) {
		return nil, errPlain
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.timeout)
	defer cancel()
	address := to
	if to.Addr().IsUnspecified() { // which means this host, to a program
		address = netip.AddrPortFrom(loopback(to), to.Port())
	}
	onward, err := proxy.Dial(ctx, address.String(), &proxy.Config{Timeout: t.timeout})
	if errors.Is(err, extsock.ErrNotMPA) || errors.Is(err, extsock.ErrNoReply) || isTimeout(err) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.plain) >= plainMost {
			clear(t.plain)
		}
		t.plain[to] = time.Now().Add(plainFor)
	}
	return onward, err
}

var errPlain = errors.New("the peer did not speak DDP a short time ago")

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// join connects the program's socket with the connection over DDP, and carries what goes over it.
func (t *connections) join(fd int, cookie uint64, k *taken, onward *proxy.Onward) (syscall.Errno, bool) {
	near, blocks, err := meet(fd, k.peer)
	if err != nil {
		_ = onward.Close()
		t.leave(cookie, k)
		t.log.Warn("connection cannot be taken over", "to", k.peer, "err", err)
		return errnoOf(err), true
	}
	if a, ok := onward.LocalAddr().(*net.TCPAddr); ok {
		k.local = a.AddrPort()
	}
	k.carried = true
	close(k.decided)
	t.count(overDDP)
	t.log.Info("connection over DDP", "from", k.local, "to", k.peer)
	t.relays.Go(func() {
		s := onward.Carry(t.ctx, near)
		t.forget(cookie)
		t.log.Info("connection has ended", "to", k.peer, "there", s.There, "back", s.Back, "err", s.Err)
	})
	// The kernel completes a connect that blocks, as if it had waited. One that does not is about to succeed.
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
	t.program.Answer(c, 0, writeAddress(process.Thread(c.Thread), a, domain, c.Args[1], c.Args[2]))
	return true
}

// drain waits until what the program has written has arrived, and tells what there was.
func (t *connections) drain() {
	timer := time.AfterFunc(drainFor, t.end)
	t.relays.Wait()
	timer.Stop()
	t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.Info("TCP connections", "ddp", t.counts[overDDP], "plain", t.counts[overPlain], "untouched", t.counts[untouched])
}
