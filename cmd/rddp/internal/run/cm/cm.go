//go:build linux

package cm

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"syscall"

	"github.com/rddp/rddp/cmd/rddp/internal/run/device"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
)

// A Config says what New makes.
type Config struct {
	// Device is whose queue pairs are connected.
	Device *device.Device
	// IWARP selects the kind of the connections that this end begins.
	IWARP bool
	// Log receives an event for each command that fails, and each event of a program. Nil means
	// nothing.
	Log *slog.Logger
}

// A CM is the connection manager of a device.
type CM struct {
	dev  *device.Device
	wire device.Wire
	log  *slog.Logger
	// ctx is done when the CM closes.
	ctx    context.Context
	cancel context.CancelFunc

	mu locks.Mutex[locks.CM]
	// all ids by their number
	ids  map[uint32]*id // +checklocks:mu
	last uint32         // +checklocks:mu
}

// New returns a connection manager.
func New(c Config) *CM {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	m := &CM{dev: c.Device, log: c.Log, ids: make(map[uint32]*id)}
	if c.IWARP {
		m.wire = device.Plain
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Close destroys all ids. Peers learn of it.
func (m *CM) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.ids {
		i.destroy()
	}
	m.cancel()
}

// An id is what librdmacm calls so: a listener, or one end of a connection. The CM's mutex guards
// it, and callers hold that mutex, unless a method is the beginning of a goroutine.
type id struct {
	cm    *CM
	num   uint32
	uid   uint64 // what events carry; 0 before the program has accepted
	ch    *Channel
	space ucma.PortSpace
	state state

	src, dst netip.AddrPort
	near     bool // src is an address of the device
	port     *port
	reuse    bool
	afOnly   bool
	// ackTimeout is the timeout of the queue pair that the program has set, or -1
	ackTimeout   int
	trafficClass uint8

	listener *extsock.Listener // for connections
	memory   *extsock.Listener // for those of devices of this host; nil if there is none
	service  *service          // for datagrams
	asking   *net.UDPConn      // for the question of a datagram id; nil if it has asked none
	backlog  int
	pending  int // ConnectRequests that the program has not taken

	request         *request // for a connection
	psn             uint32   // of the first packet that this end expects
	own, peer       proposal // peer is known once there is a request or a reply
	peerQPN         uint32
	expected        func()             // ends what the device knows of the request; nil without one
	datagramRequest *datagramRequest   // for datagrams
	pair            *device.Pair       // nil for datagrams
	cancel          context.CancelFunc // ends what is under way in connecting
	ended           bool               // the connection has ended before it was noted as begun
	wasThere        bool               // there has been a connection

	reported uint32 // events that the program has taken
}

// newLocked makes an id in its first state.
//
// +checklocks:m.mu
func (m *CM) newLocked(ch *Channel, space ucma.PortSpace, first state) *id {
	for m.ids[m.last] != nil {
		m.last++
	}
	i := &id{cm: m, num: m.last, ch: ch, space: space, state: first, ackTimeout: -1, psn: newPSN()}
	m.last++
	m.ids[i.num] = i
	return i
}

// askedLocked returns the id that a command names, or the kernel's error. err is that of the
// command's input.
//
// +checklocks:c.cm.mu
func (c *Channel) askedLocked(num uint32, err error) (*id, syscall.Errno) {
	i := c.cm.ids[num]
	switch {
	case err != nil:
		return nil, inputErrno
	case i == nil:
		return nil, syscall.ENOENT
	case i.ch != c:
		return nil, syscall.EINVAL
	}
	return i, 0
}

// tell adds an event about i, unless the program has not accepted the id yet.
func (i *id) tell(t ucma.EventType, status syscall.Errno, p ucma.ConnParam) {
	if i.uid == 0 {
		return
	}
	i.ch.addLocked(&event{Event: ucma.Event{UID: i.uid, ID: i.num, Type: t, Status: -int32(status), Param: p}, id: i})
}

// destroy ends i and all that it has.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) destroy() {
	was := i.state
	i.become(destroyed)
	delete(i.cm.ids, i.num)
	for _, v := range i.ch.removeLocked(i) {
		if v.child != nil {
			v.child.destroy()
		}
	}
	for _, l := range [...]*extsock.Listener{i.listener, i.memory} {
		if l != nil {
			_ = l.Close() // nothing can be done about it
		}
	}
	i.port.close()
	if i.cancel != nil {
		i.cancel()
	}
	if i.asking != nil {
		_ = i.asking.Close() // the program may take the port again at once
	}
	if i.service != nil {
		i.service.leave()
	}
	if was == requested {
		i.refuse(nil)
	}
	if was == connected && i.pair != nil {
		i.pair.Disconnect()
	}
}
