package pcapng

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

const (
	writeBuffer = 64 << 10 // octets between the Writer and its io.Writer
	maxSegment  = 32 << 10 // payload octets of one made-up packet
	maxMarked   = 65320    // the same for a packet with an FPDU with Markers: an FPDU of MaxULPDU fits, and IP's limit is kept
	ackEvery    = 1 << 20  // octets that may go unacknowledged; far below the window
	window      = 0xFFFF   // with windowScale: 16 MiB less 256
	windowScale = 8
)

// Made-up ends for connections whose addresses are not IP addresses: documentation addresses (RFC
// 5737, RFC 3849), and ports that give each connection a unique pair of ends.
const (
	madeUpPort  = 7174
	recentPairs = 1024  // the number of ended Flows whose pairs of ends are not reused
	portTries   = 64    // made-up ports that a Flow tries; they are used in turn, so usually the first is free
	madeUpPorts = 49152 // the first of the 16384 dynamic ports
)

var (
	madeUp4 = [2]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	madeUp6 = [2]netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")}
)

// Writer writes the octets of connections as a capture in pcapng format, with Ethernet, IP and TCP
// headers made up around them. All methods, and those of its Flows, may be called from any
// goroutine.
//
// It never fails a caller's connection: the first error of the io.Writer ends the capture, and
// Close returns it. Unless it is Direct, it buffers at most 64 KiB, and flushes the buffer when a
// Flow is closed.
type Writer struct {
	Now func() time.Time // the time of packets
	// Direct says that each packet is written to the file at once, by one Write.
	Direct bool

	mu locks.Mutex[locks.Leaf] // held during writes to the file, so that packets remain whole and in order of time

	file *bufio.Writer // +checklocks:mu
	// a packet and its block under construction
	packet, block []byte // +checklocks:mu
	flows         uint32 // +checklocks:mu
	// the ends of the Flows so far
	used map[pair]*Flow // +checklocks:mu
	// pairs of Flows that have ended, which used still has; the oldest is at ended % recentPairs
	recent []pair // +checklocks:mu
	ended  int    // +checklocks:mu
	err    error  // +checklocks:mu
	closed bool   // +checklocks:mu
}

// NewWriter returns a Writer whose file has begun in w. The caller closes w after the Writer.
func NewWriter(w io.Writer) (*Writer, error) {
	file := bufio.NewWriterSize(w, writeBuffer)
	file.Write(appendHeader(nil))
	if err := file.Flush(); err != nil {
		return nil, err
	}
	return &Writer{Now: time.Now, file: file, used: map[pair]*Flow{}}, nil
}

// Flush writes the buffered data to the file and returns the first error that occurred in writing
// the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushLocked()
	return w.err
}

// Err returns the reason why recording has ended: the first error in writing the file, or
// os.ErrClosed. It returns nil while recording works.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.closed {
		return os.ErrClosed
	}
	return w.err
}

// Close ends the capture and returns the first error that occurred in writing it. Flows that are
// still open get no FIN. Further calls return the same error.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.flushLocked()
		w.closed = true
	}
	return w.err
}

// Flow begins a connection: its handshake is written now. initiator says that the local end opened
// the connection. Unless both addresses are IP addresses of the same family with a port, they are
// replaced by made-up ones. If there is a Flow between these two ends, or was one recently, such as
// that of the other end of the same connection, the opening end's port is replaced too, because
// readers would confuse the two. The ports of a Flow that ended long ago may be used again.
func (w *Writer) Flow(local, remote net.Addr, initiator bool) *Flow {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flows++
	f := &Flow{w: w}
	f.local.addr, f.remote.addr = ends(local, remote, initiator, w.flows)
	// Every connection gets different sequence numbers, because the same two ports may be used
	// again.
	f.local.seq = w.flows << 20
	f.remote.seq = f.local.seq + 1<<19
	for i, e := range []*end{&f.local, &f.remote} {
		e.mac = [6]byte{2, 0, 0, 0, 0, byte(i + 1)} // locally administered
	}
	first, second := &f.remote, &f.local
	if initiator {
		first, second = second, first
	}
	for try := uint32(0); w.used[f.pair()] != nil && try < portTries; try++ {
		first.addr = netip.AddrPortFrom(first.addr.Addr(), dynamicPort(w.flows+try))
	}
	w.used[f.pair()] = f
	f.writeLocked(first, second, header{syn: true}, nil)            // +checklocksignore: f.w is w
	f.writeLocked(second, first, header{syn: true, ack: true}, nil) // +checklocksignore: f.w is w
	f.writeLocked(first, second, header{ack: true}, nil)            // +checklocksignore: f.w is w
	return f
}

// forgetLocked records that a Flow has ended, and forgets the one that ended recentPairs Flows
// before.
//
// +checklocks:w.mu
func (w *Writer) forgetLocked(f *Flow) {
	p := f.pair()
	if w.used[p] != f { // no free port was found, so a later Flow has the same pair
		return
	}
	if len(w.recent) < recentPairs {
		w.recent = append(w.recent, p)
		return
	}
	oldest := &w.recent[w.ended%recentPairs]
	delete(w.used, *oldest)
	*oldest = p
	w.ended++
}

// ends returns the addresses to write for both ends of the connection with this number.
func ends(local, remote net.Addr, initiator bool, number uint32) (l, r netip.AddrPort) {
	l, r = addrPort(local), addrPort(remote)
	if l == r { // both have no address, or it is not a TCP connection
		l, r = netip.AddrPort{}, netip.AddrPort{}
	}
	made := madeUp4
	if l.Addr().Is6() || !l.IsValid() && r.Addr().Is6() {
		made = madeUp6
	}
	localPort, remotePort := uint16(madeUpPort), dynamicPort(number)
	if initiator {
		localPort, remotePort = remotePort, localPort
	}
	if !l.IsValid() {
		l = netip.AddrPortFrom(made[0], localPort)
	}
	if !r.IsValid() || l.Addr().Is4() != r.Addr().Is4() {
		r = netip.AddrPortFrom(made[1], remotePort)
	}
	return l, r
}

// dynamicPort returns a dynamic port for a number.
func dynamicPort(number uint32) uint16 { return madeUpPorts + uint16(number%(1<<16-madeUpPorts)) }

// addrPort returns the IP address and port in a, or the zero AddrPort if it has none.
func addrPort(a net.Addr) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// packetLocked appends one packet to the file, with the present time, which can't run backward
// because the lock is held.
//
// +checklocks:w.mu
func (w *Writer) packetLocked(from, to *end, h header, payload []byte) {
	if w.err != nil || w.closed {
		return
	}
	w.packet = appendPacket(w.packet[:0], from, to, h, payload)
	w.block = appendPacketBlock(w.block[:0], w.Now(), w.packet)
	if _, w.err = w.file.Write(w.block); w.Direct {
		w.flushLocked()
	}
}

// +checklocks:w.mu
func (w *Writer) flushLocked() {
	if w.err == nil && !w.closed {
		w.err = w.file.Flush()
	}
}
