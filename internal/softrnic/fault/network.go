package fault

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

func (p *Plan) hasNetwork() bool {
	return len(p.Cuts) > 0 || p.Network.Loss > 0 || p.Network.Delay > 0 || p.Network.Jitter > 0 || p.Network.Rate > 0
}

// HasNetwork reports whether the Plan has network faults.
func (i *Injector) HasNetwork() bool { return i != nil && i.plan.hasNetwork() }

// Stream returns a stream over c, with the network faults if there are any. It owns c from now on.
func (i *Injector) Stream(c *net.TCPConn) (toe.Stream, error) {
	if !i.HasNetwork() {
		return kernel.New(c), nil
	}
	return i.stream(c)
}

type listener struct {
	net.Listener
	i *Injector
}

// Accept drops a connection for which this process has no sockets left.
func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if s, err := l.i.stream(c.(*net.TCPConn)); err == nil {
			return s, nil
		}
	}
}

// Listener returns a listener that accepts the connections of l, with the network faults. It
// returns l if there are none.
func (i *Injector) Listener(l net.Listener) net.Listener {
	if !i.HasNetwork() {
		return l
	}
	return listener{l, i}
}

// stream returns the near end of a path whose far end is c.
func (i *Injector) stream(c *net.TCPConn) (toe.Stream, error) {
	near, far, err := socketPair()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	if _, err := i.lay(far, c); err != nil {
		_, _, _ = near.Close(), far.Close(), c.Close()
		return nil, err
	}
	return netconn.New(&conn{near, c.LocalAddr(), c.RemoteAddr()}), nil
}

// A conn is the near end of a path. It has the addresses of the connection at the far end.
type conn struct {
	*net.UnixConn
	local, remote net.Addr
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// An end is one of the two sockets that a path joins.
type end interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// A path copies bytes between two sockets, in both directions, over a link. It ends when both
// directions have ended, or at once when it is cut.
type path struct {
	i      *Injector
	a      end           // the device's side
	b      end           // the network's
	passed atomic.Int64  // bytes in both directions
	limit  int64         // the maximum of passed
	resend time.Duration // the time after which a lost packet is sent again
	done   chan struct{} // closed when the path has ended
	ended  sync.Once

	mu     locks.Mutex[locks.Leaf]
	timers []*time.Timer // +checklocks:mu
}

// lay makes a path between a, the device's side, and b, the network's side. The path owns both.
func (i *Injector) lay(a, b end) (*path, error) {
	f := i.plan.Network
	f.Queue = 2 * inFlight // so a full queue never drops packets
	i.mu.Lock()
	i.connections++
	seed := i.plan.Seed + i.connections<<32
	i.mu.Unlock()
	near, far, err := badlink.Pipe(badlink.Config{Seed: seed, MTU: packetLen, AB: f, BA: f})
	if err != nil {
		return nil, err
	}
	p := &path{i: i, a: a, b: b, limit: 1<<63 - 1, resend: 2*f.Delay + f.Jitter + 10*time.Millisecond, done: make(chan struct{})}
	for _, c := range i.plan.Cuts {
		if c.Bytes > 0 {
			p.limit = min(p.limit, c.Bytes)
		}
	}
	p.mu.Lock() // a cut may happen at once
	for _, c := range i.plan.Cuts {
		if c.Bytes == 0 {
			p.timers = append(p.timers, time.AfterFunc(c.After, p.cut))
		}
	}
	p.mu.Unlock()
	delivered := make(chan struct{}, 2)
	for _, d := range []struct {
		from, to  end
		link, out *badlink.End
	}{{a, b, near, far}, {b, a, far, near}} {
		w := &way{path: p, link: d.link, room: make(chan struct{}, inFlight)}
		go w.send(d.from)
		go func() {
			w.deliver(d.out, d.to)
			delivered <- struct{}{}
		}()
	}
	go func() {
		var late <-chan time.Time // like TCP's FIN-WAIT-2: the device's side may be closed, not half-closed
		for over := 0; over < 2; over++ {
			select {
			case <-delivered:
				late = time.After(finTime)
			case <-late:
				over = 2
			case <-p.done: // cut
				over = 2
			}
		}
		p.end()
		_, _ = near.Close(), far.Close()
	}()
	return p, nil
}

// finTime is how long the second direction of a connection may outlive the first.
const finTime = time.Minute

// end closes both sockets.
func (p *path) end() { p.ended.Do(p.close) }

func (p *path) close() {
	p.mu.Lock()
	for _, t := range p.timers {
		t.Stop()
	}
	p.mu.Unlock()
	_, _ = p.a.Close(), p.b.Close()
	close(p.done)
}

// cut resets the connection, unless it has already ended.
func (p *path) cut() {
	p.ended.Do(func() {
		if c, ok := p.b.(*net.TCPConn); ok {
			_ = c.SetLinger(0) // the peer gets a RST
		}
		p.i.log.Info("fault", "place", "cut", "bytes", p.passed.Load())
		p.close()
	})
}

const (
	// packetLen is the maximum length in bytes of a packet. headerLen is the length of its header:
	// the number of the packet, and whether it is the last one.
	packetLen = 1400 + headerLen
	headerLen = 9
	// inFlight is the maximum number of packets in transit in one direction.
	inFlight = 1024
)

// A way is one direction of a path.
type way struct {
	path *path
	link *badlink.End
	room chan struct{} // has an element for each packet in transit

	mu locks.Mutex[locks.FaultWay] // held while a packet is written, so that the link's count of losses shows whether it was lost
}

// send reads bytes from one socket and sends them as packets.
func (w *way) send(from end) {
	b := make([]byte, packetLen)
	for k := uint64(0); ; k++ {
		n, err := from.Read(b[headerLen:])
		if p := w.path; n > 0 && p.passed.Add(int64(n)) > p.limit {
			p.cut()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			w.path.end()
		}
		select {
		case w.room <- struct{}{}:
		case <-w.path.done:
			return
		}
		binary.BigEndian.PutUint64(b, k)
		b[8] = 0
		if n == 0 && err != nil {
			b[8] = 1
		}
		w.put(append([]byte(nil), b[:headerLen+n]...), time.Now(), 1)
		if err != nil && n == 0 {
			return
		}
	}
}

// A path gives up, like TCP, when the link has lost a packet maxTries times, over at least maxTime.
const (
	maxTries = 15
	maxTime  = 2 * time.Minute
)

// put sends a packet, and sends it again later if the link loses it. since is the time of the first
// attempt, and this is the n-th attempt.
func (w *way) put(packet []byte, since time.Time, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.link.Stats().Lost
	if _, err := w.link.Write(packet); err != nil || w.link.Stats().Lost == before {
		return
	}
	if n >= maxTries && time.Since(since) >= maxTime {
		w.path.end()
		return
	}
	time.AfterFunc(w.path.resend, func() { w.put(packet, since, n+1) })
}

// deliver writes the payload of the packets in order.
func (w *way) deliver(out *badlink.End, to end) {
	early := make(map[uint64][]byte)
	b := make([]byte, packetLen)
	for next := uint64(0); ; {
		n, err := out.Read(b)
		if err != nil {
			return
		}
		early[binary.BigEndian.Uint64(b)] = append([]byte(nil), b[8:n]...)
		for p, ok := early[next]; ok; p, ok = early[next] {
			delete(early, next)
			next++
			<-w.room
			if p[0] == 1 {
				_ = to.CloseWrite() // fails if the connection has already ended
				return
			}
			if _, err := to.Write(p[1:]); err != nil {
				w.path.end()
				return
			}
		}
	}
}

// A Link is a bad link for datagrams sent from a UDP socket.
type Link struct{ near, far *badlink.End }

// Link returns a bad link for datagrams sent from u, or nil if there are no network faults. u may
// be closed before the Link.
func (i *Injector) Link(u *net.UDPConn) (*Link, error) {
	if !i.HasNetwork() {
		return nil, nil
	}
	near, far, err := badlink.Pipe(badlink.Config{Seed: i.plan.Seed, MTU: 1<<16 - 1, AB: i.plan.Network})
	if err != nil {
		return nil, err
	}
	go func() {
		b := make([]byte, far.MTU())
		for {
			n, err := far.Read(b)
			if err != nil {
				return
			}
			var to netip.AddrPort
			if k := 1 + int(b[0]); to.UnmarshalBinary(b[1:k]) == nil {
				_, _ = u.WriteToUDPAddrPort(b[k:n], to) // if it can't be sent, it is lost
			}
		}
	}()
	return &Link{near, far}, nil
}

// Send sends a datagram. It neither blocks nor retains b.
func (l *Link) Send(b []byte, to netip.AddrPort) {
	address, _ := to.MarshalBinary()                                                  // never fails
	_, _ = l.near.Write(append(append([]byte{byte(len(address))}, address...), b...)) // if it is too long, it is lost
}

// Close closes the link. Datagrams in transit are lost.
func (l *Link) Close() { _, _ = l.near.Close(), l.far.Close() }
