package shm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/softrnic/user"
)

// A connection begins with a hello from the dialing end. The descriptors of the shared memory and
// of one end of a second socket come with it. The answer is one byte.
//
//	 0                 8                24     26               42     44
//	+-----------------+----------------+------+----------------+------+
//	| "rddp NR1"      | from: address  | port | to: address    | port |
//	+-----------------+----------------+------+----------------+------+
const (
	helloMagic = "rddp NR1"
	helloLen   = len(helloMagic) + 2*(16+2)
	accepted   = 'y'
	// helloTime is the time that a peer has to send its hello.
	helloTime = 5 * time.Second
	// maxHellos is the maximum number of peers whose hellos a listener receives at the same time.
	// Others wait, or use TCP. Each needs up to five descriptors. Closing a descriptor that a
	// hostile peer has passed may take forever.
	maxHellos = 64
)

type hello struct{ from, to netip.AddrPort }

func (h hello) appendTo(b []byte) []byte {
	b = append(b, helloMagic...)
	for _, a := range [...]netip.AddrPort{h.from, h.to} {
		address := a.Addr().As16()
		b = binary.BigEndian.AppendUint16(append(b, address[:]...), a.Port())
	}
	return b
}

var errHello = errors.New("shm: not the hello of a device")

func parseHello(b []byte) (h hello, err error) {
	if len(b) != helloLen || string(b[:len(helloMagic)]) != helloMagic {
		return h, errHello
	}
	address := func(b []byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)).Unmap(), binary.BigEndian.Uint16(b[16:]))
	}
	b = b[len(helloMagic):]
	return hello{address(b), address(b[18:])}, nil
}

// socketName returns the name of the listener for a port. Like the port, the name belongs to the
// network namespace.
func socketName(s Space, port uint16) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("@rddp-%s-%d", s, port)}
}

// errStrict is the error of a system that never overcommits memory.
var errStrict = errors.New("shm: with vm.overcommit_memory=2, the memory may turn out not to be there")

// overcommitFile contains the kernel's overcommit policy. Tests use another file.
var overcommitFile = "/proc/sys/vm/overcommit_memory"

// checkSystem returns an error if an access to shared memory could end this process. The kernel
// allocates memory when it is first touched. Under the policy never to overcommit, that may fail
// with a SIGBUS.
func checkSystem() error {
	b, err := os.ReadFile(overcommitFile)
	if err == nil && strings.TrimSpace(string(b)) == "2" {
		return errStrict
	}
	return err
}

// checkUser returns an error unless the peer has the same user as this process.
func checkUser(c *net.UnixConn) (err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var u *unix.Ucred
	if e := raw.Control(func(fd uintptr) { u, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil {
		return e
	}
	if err == nil && user.Of(u.Uid) != user.Same {
		err = errors.New("shm: the peer is another user")
	}
	return err
}

// Dial connects to the listener of port to.Port() in a space, if the peer has the address to and
// belongs to the same user. from is the address of this end. Dial fails if to is not an address of
// this host.
func Dial(ctx context.Context, in Space, from, to netip.AddrPort) (*Stream, error) {
	if err := checkSystem(); err != nil {
		return nil, err
	}
	if l := listenerHere(in, to.Port()); l != nil {
		return l.meet(ctx, from, to)
	}
	return dialSocket(ctx, in, from, to)
}

// dialSocket is Dial to a listener of another process.
func dialSocket(ctx context.Context, in Space, from, to netip.AddrPort) (*Stream, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", socketName(in, to.Port()).Name)
	if err != nil {
		return nil, err
	}
	c := nc.(*net.UnixConn)
	// A process that listens at the name of the port could pretend to be another host.
	if !isOurs(to.Addr()) {
		_ = c.Close()
		return nil, errHello
	}
	_ = c.SetDeadline(time.Now().Add(helloTime))                                  // mapped removes the deadline
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // fails if c is closed
	s, err := dial(c, hello{from, to})
	if !stop() && err == nil {
		_, err = s.Close(), ctx.Err()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return s, nil
}

func dial(c *net.UnixConn, h hello) (*Stream, error) {
	if err := checkUser(c); err != nil {
		return nil, err
	}
	file, room, theirs, err := newMemory()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	defer theirs.Close()
	_, _, err = c.WriteMsgUnix(h.appendTo(nil), unix.UnixRights(int(file.Fd()), int(theirs.Fd())), nil)
	var answer [1]byte
	if err == nil {
		_, err = c.Read(answer[:])
	}
	if err == nil && answer[0] != accepted {
		err = errHello
	}
	var s *Stream
	if err == nil {
		s, err = mapped(0, file, c, room, h.from, h.to)
	}
	if err != nil {
		_ = room.Close()
	}
	return s, err
}

// newMemory returns the file of a connection's memory, and the two ends of its second socket.
func newMemory() (file *os.File, room *net.UnixConn, theirs *os.File, err error) {
	fd, err := unix.MemfdCreate("rddp-shm", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, nil, err
	}
	file = os.NewFile(uintptr(fd), "shm")
	if err = unix.Ftruncate(fd, fileLen); err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		var pair [2]int
		if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
			theirs = os.NewFile(uintptr(pair[1]), "room")
			if room, err = unixConn(pair[0]); err != nil {
				theirs.Close()
			}
		}
	}
	if err != nil {
		file.Close()
		return nil, nil, nil, err
	}
	return file, room, theirs, nil
}

// unixConn turns a socket into a net.UnixConn. It closes fd.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "room")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, errHello
	}
	return u, nil
}

// mapped maps the memory and returns the Stream of a connection.
func mapped(number int, file *os.File, data, room *net.UnixConn, local, remote netip.AddrPort) (*Stream, error) {
	if err := data.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(file.Fd()), 0, fileLen, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	s, err := newStream(number, b, data, room, Addr(local), Addr(remote))
	if err != nil {
		_ = unix.Munmap(b)
	}
	return s, err
}

// A listener accepts connections from devices of this host.
type listener struct {
	l        *net.UnixListener
	name     string // of the socket
	port     uint16
	has      func(netip.Addr) bool
	patience time.Duration // the time for a hello

	hellos chan struct{} // holds an element for each running receive
	conns  chan *Stream
	closed chan struct{}
	once   sync.Once
}

// Listen listens at the name of a port in a space. has reports whether this end has an address;
// peers that dial another address are refused.
func Listen(in Space, port uint16, has func(netip.Addr) bool) (net.Listener, error) {
	return listenFor(helloTime, in, port, has)
}

// listenFor is Listen with the time d for hellos.
func listenFor(d time.Duration, in Space, port uint16, has func(netip.Addr) bool) (net.Listener, error) {
	if err := checkSystem(); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", socketName(in, port))
	if err != nil {
		return nil, err
	}
	x := &listener{
		l: l, name: socketName(in, port).Name, port: port, has: has, patience: d, hellos: make(chan struct{}, maxHellos), conns: make(chan *Stream), closed: make(chan struct{}),
	}
	x.showHere()
	go x.serve()
	return x, nil
}

func (l *listener) Addr() net.Addr { return Addr(netip.AddrPortFrom(netip.IPv6Unspecified(), l.port)) }

// Close stops listening. Connections that Accept has returned stay open.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.hideHere()
		close(l.closed)
	})
	return l.l.Close()
}

// Accept returns the next connection, a *Stream.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case s := <-l.conns:
		return s, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "shm", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// serve receives the hellos of peers until the listener is closed. A slow peer does not delay
// others.
func (l *listener) serve() {
	var again retry.Wait
	for {
		select {
		case l.hellos <- struct{}{}:
		case <-l.closed:
			return
		}
		c, err := l.l.AcceptUnix()
		if err == nil {
			go l.receive(c)
			again.Reset()
			continue
		}
		<-l.hellos
		select {
		case <-l.closed:
			return
		case <-time.After(again.Next()): // for example, when no descriptors are left
		}
	}
}

func (l *listener) receive(c *net.UnixConn) {
	defer func() { <-l.hellos }()
	s, err := l.answer(c)
	if err != nil {
		_ = c.Close() // the peer then uses TCP
		return
	}
	l.hand(s)
}

// hand gives a connection to Accept, or closes it if the listener is closed.
func (l *listener) hand(s *Stream) {
	select {
	case l.conns <- s:
	case <-l.closed:
		_ = s.Close()
	}
}

// takes reports whether the listener takes a connection between two addresses.
func (l *listener) takes(from, to netip.AddrPort) bool {
	return to.Port() == l.port && l.has(to.Addr()) && isOurs(from.Addr())
}

// answer receives a hello, and makes a Stream of the connection.
func (l *listener) answer(c *net.UnixConn) (*Stream, error) {
	if err := errors.Join(checkUser(c), c.SetDeadline(time.Now().Add(l.patience))); err != nil {
		return nil, err
	}
	b, rights := make([]byte, helloLen), make([]byte, unix.CmsgSpace(4*4)) // room for more than the two expected descriptors
	n, m, _, _, err := c.ReadMsgUnix(b, rights)
	if err != nil {
		return nil, err
	}
	file, room, err := parseRights(rights[:m])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, err := parseHello(b[:n])
	if err == nil && !l.takes(h.from, h.to) {
		err = errHello
	}
	if err == nil {
		err = checkMemory(int(file.Fd()))
	}
	var s *Stream
	if err == nil {
		s, err = mapped(1, file, c, room, h.to, h.from)
	}
	if err != nil {
		_ = room.Close()
		return nil, err
	}
	if _, err := c.Write([]byte{accepted}); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// parseRights returns the two descriptors of a hello.
func parseRights(b []byte) (file *os.File, room *net.UnixConn, err error) {
	var fds []int
	messages, err := unix.ParseSocketControlMessage(b)
	for i := range messages {
		if more, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, more...)
		}
	}
	if err == nil && len(fds) == 2 {
		if room, err = unixConn(fds[1]); err == nil {
			return os.NewFile(uintptr(fds[0]), "shm"), room, nil
		}
		fds = fds[:1]
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return nil, nil, errHello
}

// isOurs reports whether a is an address of this host.
func isOurs(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	all, _ := net.InterfaceAddrs() // on an error, a is not ours
	for _, x := range all {
		if p, err := netip.ParsePrefix(x.String()); err == nil && p.Addr().Unmap() == a {
			return true
		}
	}
	return false
}

// checkMemory returns an error unless the file is ordinary memory of the right length that cannot
// shrink. An access to other memory could end this process.
func checkMemory(fd int) error {
	// Check the seal first: without it, the length could change after the check.
	if seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return errHello
	}
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs)); err != nil {
		return err
	}
	if st.Size != fileLen || fs.Type != unix.TMPFS_MAGIC {
		return errHello
	}
	return nil
}
