//go:build linux

package cm

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"syscall"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// A Config configures a CM.
type Config struct {
	// Device is the device whose queue pairs are connected.
	Device *softrnic.Device
	// IWARP makes this end initiate plain iWARP connections instead of joined ones.
	IWARP bool
	// Log receives commands and events at level Debug, and failed connections. If nil, nothing is
	// logged.
	Log *slog.Logger
	// Check, if not nil, gets the ids that programs have not destroyed.
	Check *check.Reporter
}

// A CM is the connection manager of a device.
type CM struct {
	dev  *softrnic.Device
	wire softrnic.Wire
	log  *slog.Logger
	// nil if the programs are not checked
	check *check.Reporter
	// ctx is done when the CM closes.
	ctx    context.Context
	cancel context.CancelFunc

	mu locks.Mutex[locks.CM]
	// by number
	ids  map[uint32]*id // +checklocks:mu
	last uint32         // +checklocks:mu
	// the ends whose connections are to end when mu is unlocked
	ending []end // +checklocks:mu
}

// New returns a connection manager.
func New(c Config) *CM {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	m := &CM{dev: c.Device, log: c.Log, check: c.Check, ids: make(map[uint32]*id)}
	if c.IWARP {
		m.wire = softrnic.Plain
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// unlock unlocks the mutex of m after something that may end connections, and ends these. That
// waits for accesses to the program's memory, so it must not keep other programs waiting.
//
// +checklocksrelease:m.mu
func (m *CM) unlock() {
	ending := m.ending
	m.ending = nil
	m.mu.Unlock()
	for _, e := range ending {
		e.Disconnect()
	}
}

// Close destroys all ids, which ends their connections.
func (m *CM) Close() {
	m.mu.Lock()
	defer m.unlock()
	for _, i := range m.ids {
		i.checkLeft()
		i.destroy()
	}
	m.cancel()
}

// An id is a listener, or one end of a connection; librdmacm uses the same name. The CM's mutex
// guards it. Callers of its methods hold that mutex, except when a method is started as a
// goroutine.
type id struct {
	cm    *CM
	num   uint32
	uid   uint64 // the program's name for the id, in events; 0 until the program accepts
	ch    *Channel
	space ucma.PortSpace
	state state

	src, dst netip.AddrPort
	near     bool // src is an address of the device
	port     *port
	reuse    bool
	afOnly   bool
	// ackTimeout is the ACK timeout that the program has set, or -1
	ackTimeout   int
	trafficClass uint8

	listener *conn.Listener // for connections
	memory   *conn.Listener // for connections of devices of this host, through shared memory; may be nil
	service  *service       // for datagrams
	backlog  int
	pending  int // ConnectRequests that the program has not taken

	request         *request // for a connection
	psn             uint32   // the first PSN that this end expects
	own, peer       proposal // peer is valid once there is a Request or a Reply
	peerQPN         uint32
	qpn             uint32             // of the program's queue pair, once it has named one
	expected        func()             // makes the device forget the request; nil without one
	datagramRequest *datagramRequest   // for datagrams
	end             end                // nil for datagrams
	cancel          context.CancelFunc // cancels connecting
	ended           bool               // the connection has ended before the id became connected
	wasThere        bool               // the id has been connected

	reported uint32 // events that the program has taken
	given    bool   // the program has taken the request that the id came with
}

// newLocked makes an id in state first.
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

// askedLocked returns the id that a command names, or the error that the kernel would return. err
// is the error of parsing the command.
//
// +checklocks:c.cm.mu
func (c *Channel) askedLocked(num uint32, err error) (*id, error) {
	i := c.cm.ids[num]
	switch {
	case err != nil:
		return nil, uverbs.Refuse(inputErrno, "its input: %v", err)
	case i == nil:
		return nil, uverbs.Refuse(syscall.ENOENT, "there is no id %d", num)
	case i.ch != c:
		return nil, uverbs.Refuse(syscall.EINVAL, "id %d belongs to another channel", num)
	}
	return i, nil
}

// tell adds an event about i. It does nothing if the program has not accepted the id yet.
func (i *id) tell(t ucma.EventType, status syscall.Errno, p ucma.ConnParam) {
	if i.uid == 0 {
		return
	}
	i.ch.addLocked(&event{Event: ucma.Event{UID: i.uid, ID: i.num, Type: t, Status: -int32(status), Param: p}, id: i})
}

func (i *id) String() string { return fmt.Sprintf("rdma_cm id %d", i.num) }

// checkLeft reports i if the program is checked and has not destroyed it. An id is the program's
// when it has created it, or has got it with a request.
func (i *id) checkLeft() {
	if i.ch.check != nil && (i.uid != 0 || i.given) {
		i.ch.check.Add(check.Leaves(i.String(), "rdma_destroy_id"))
	}
}

// destroy destroys i and closes everything that it owns.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) destroy() {
	was, there := i.state, i.isThere()
	i.become(destroyed)
	delete(i.cm.ids, i.num)
	i.cm.check.Unmakes(i)
	for _, v := range i.ch.removeLocked(i) {
		if v.child != nil {
			v.child.destroy()
		}
	}
	for _, l := range [...]*conn.Listener{i.listener, i.memory} {
		if l != nil {
			_ = l.Close() // the error does not matter
		}
	}
	i.port.close()
	if i.cancel != nil {
		i.cancel()
	}
	if i.service != nil {
		i.service.leave()
	}
	if was == requested {
		i.refuse(nil)
	}
	if there && i.end != nil {
		i.disconnect()
	}
}

// disconnect ends the connection of i when the mutex is unlocked.
//
// +checklocksignore: the caller holds the CM's mutex, and calls unlock
func (i *id) disconnect() { i.cm.ending = append(i.cm.ending, i.end) }
