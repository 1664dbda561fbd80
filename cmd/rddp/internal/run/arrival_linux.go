//go:build amd64 || arm64

package run

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/proxy"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/admission"
)

// Limits of arrivals.
const (
	// sniffFor is the time a peer has to begin, in addition to the kernel's wait. A peer that
	// speaks DDP begins at once.
	sniffFor = 200 * time.Millisecond
	// arrivalsMost bounds the arrivals that the program cannot accept yet.
	arrivalsMost = 4096
)

// An arrival is a connection that has reached a listener, but not yet the program.
type arrival struct {
	fd          int // the connection, or -1 if half has it
	local, peer netip.AddrPort
	domain      int
	options     options
	speaks      protocol
	half        *proxy.Half   // nil until startup is over
	from        source        // the listener
	accepted    chan struct{} // closed when the program accepts it while it is kept
}

// arrived handles a connection from a listener's queue. It returns nil if the program must not get
// the connection now.
func (t *tcpRelay) arrived(fd int, from netip.AddrPort, listener source) *arrival {
	if a := t.claim(from); a != nil {
		unix.Close(fd)
		return a
	}
	local, err := localAddress(fd)
	a := &arrival{fd: fd, local: local, peer: from, from: listener}
	if err == nil {
		a.domain, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	}
	if err != nil || !from.IsValid() {
		a.close()
		return nil
	}
	a.options = optionsOf(fd)
	a.speaks = look(fd, t.secure)
	switch {
	case a.speaks == plain && t.plainToo:
		return a
	case a.speaks == overMPA && !t.secure:
		if hasEnded(fd) { // the peer has given up waiting
			a.close()
			return nil
		}
		return a
	}
	if a.speaks == unknown || a.speaks == overTLS {
		if g := t.groupOf(listener); g.mayBeShared() {
			t.decideNow(a, g)
			return a
		}
	}
	t.arrive(a)
	return nil
}

// hasEnded reports whether the peer has closed the connection or half-closed it.
func hasEnded(fd int) bool {
	const established = 1 // TCP_ESTABLISHED
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err != nil || info.State != established
}

// arrive returns a connection to its listener's queue once its protocol is known.
func (t *tcpRelay) arrive(a *arrival) {
	select {
	case t.arrivals <- a:
	case <-t.begin.Done():
		a.close()
	}
}

// serveArrivals handles arrivals until the program has ended.
func (t *tcpRelay) serveArrivals() {
	l := accept.Loop[*arrival]{
		Accept: func() (*arrival, error) {
			select {
			case a := <-t.arrivals:
				return a, nil
			case <-t.begin.Done():
				return nil, net.ErrClosed
			}
		},
		Serve: t.decide, Context: t.begin, Most: arrivalsMost, EnterAtOnce: true, Go: t.deciding.Go, Log: t.log,
		From: func(a *arrival) admission.Source { return admission.SourceOf(net.TCPAddrFromAddrPort(a.peer)) },
		Refuse: func(a *arrival, ending bool) {
			if !ending {
				t.log.Warn("too many connections have begun and said nothing", "from", a.peer, "at", a.local)
			}
			a.close()
		},
	}
	_ = l.Run(t.begin) // it ends with the program
}

// decide determines the protocol of a connection and puts it back into its listener's queue. With
// TLS, the handshake comes first, so the peer is already authenticated.
func (t *tcpRelay) decide(ctx context.Context, a *arrival, place *accept.Place) {
	if a.speaks == unknown {
		a.speaks = t.sniff(ctx, a.fd)
	}
	if t.secure && (a.speaks != plain || !t.plainToo) && a.half == nil {
		if err := t.startUp(ctx, a); err != nil {
			t.log.Warn("connection refused", "from", a.peer, "at", a.local, "err", err)
			return
		}
		a.speaks = overTLS
	}
	if ctx.Err() != nil || !place.Heard() {
		a.close()
		return
	}
	if err := t.queue(ctx, a); err != nil {
		t.log.Info("the program no longer accepts the connection", "from", a.peer, "at", a.local, "err", err)
	}
}

// sniff waits for the first bytes of a connection.
func (t *tcpRelay) sniff(ctx context.Context, fd int) protocol {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return plain
	}
	f := os.NewFile(uintptr(own), "connection") // it does not block, so the poller can wait for it
	defer f.Close()
	raw, err := f.SyscallConn()
	if err == nil {
		err = f.SetReadDeadline(time.Now().Add(t.sniffFor))
	}
	if err != nil {
		return plain
	}
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	speaks := unknown
	_ = raw.Read(func(fd uintptr) bool { // an error means that the deadline has passed
		speaks = look(int(fd), t.secure)
		return speaks != unknown
	})
	if speaks == unknown {
		return plain
	}
	return speaks
}

// errListenerGone means that a listener has been closed before the program accepted a connection.
var errListenerGone = errors.New("its listener has been closed")

// queue puts a connection into the queue of its listener, and waits until the program has accepted
// it. If a token could reach another process, the connection waits here instead.
func (t *tcpRelay) queue(ctx context.Context, a *arrival) error {
	for {
		switch t.groupOf(a.from) {
		case onlyOurs:
			return t.putToken(ctx, a)
		case ended:
			a.close()
			return errListenerGone
		}
		if t.keep(ctx, a) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			a.close()
			return err
		}
	}
}

// putToken puts a token for a connection into the queue of its listener. The token is a connection
// from this process, known by its source address. It carries one byte, because the kernel waits for
// first bytes.
func (t *tcpRelay) putToken(ctx context.Context, a *arrival) error {
	to := netip.AddrPortFrom(a.local.Addr().Unmap(), a.local.Port())
	var name netip.AddrPort
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if e := raw.Control(func(fd uintptr) { name, err = t.bindToken(int(fd), to.Addr(), a) }); e != nil {
			return e
		}
		return err
	}}
	token, err := d.DialContext(ctx, "tcp", to.String())
	if err == nil {
		defer abort(token.(*net.TCPConn))
		defer context.AfterFunc(ctx, func() { _ = token.SetDeadline(time.Unix(1, 0)) })()
		if _, err = token.Write([]byte{0}); err == nil {
			_, err = token.Read(make([]byte, 1)) // it fails when this process or the program closes the other end
		}
	}
	if t.claim(name) == nil {
		return nil
	}
	a.close()
	return errors.Join(errListenerGone, err)
}

// bindToken binds the socket of a token to a source address, and records the address as the token
// of a.
func (t *tcpRelay) bindToken(fd int, ip netip.Addr, a *arrival) (netip.AddrPort, error) {
	var to unix.Sockaddr
	if ip.Is4() {
		to = &unix.SockaddrInet4{Addr: ip.As4()}
	} else {
		v6 := &unix.SockaddrInet6{Addr: ip.As16()}
		if i, err := net.InterfaceByName(ip.Zone()); ip.Zone() != "" && err == nil {
			v6.ZoneId = uint32(i.Index)
		}
		to = v6
	}
	if err := unix.Bind(fd, to); err != nil {
		return netip.AddrPort{}, err
	}
	name, err := localAddress(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens[name] = a
	return name, nil
}

// claim returns the arrival whose token has this source address, or nil. It returns each arrival
// once.
func (t *tcpRelay) claim(from netip.AddrPort) *arrival {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.tokens[from]
	delete(t.tokens, from)
	return a
}

// close closes this process's copy of the connection. If the program has no copy, that ends the
// connection, as when the kernel closes a listener.
func (a *arrival) close() {
	if a.half != nil {
		_ = a.half.Close()
	}
	if a.fd >= 0 {
		unix.Close(a.fd)
		a.fd = -1
	}
}

// drop is close for a connection that may already have a loopback connection, whose end here is
// near.
func (a *arrival) drop(near *net.TCPConn) {
	if near != nil {
		abort(near)
	}
	a.close()
}

// options are the socket options that an accepted socket inherits from its listener and that
// programs rely on.
type options struct {
	noDelay, keepAlive int
	linger             *unix.Linger
	receive, send      *unix.Timeval
}

func optionsOf(fd int) (o options) {
	// If a call fails, the option keeps the value of a new socket.
	o.noDelay, _ = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY)
	o.keepAlive, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE)
	o.linger, _ = unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER)
	o.receive, _ = unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	o.send, _ = unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	return o
}

func (o options) set(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, o.noDelay) // every TCP socket has these options
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, o.keepAlive)
	if o.linger != nil && o.linger.Onoff != 0 {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, o.linger)
	}
	for name, tv := range map[int]*unix.Timeval{unix.SO_RCVTIMEO: o.receive, unix.SO_SNDTIMEO: o.send} {
		if tv != nil && tv.Nano() != 0 {
			_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, name, tv)
		}
	}
}
