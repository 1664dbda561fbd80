// Package devicetest has an RDMA device in memory, for tests. A queue pair executes work requests
// at once. A Send without a posted receive ends the connection, as on most devices.
package devicetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/rnic"
)

// A Backend adds the device to another Backend, whose TCP it uses.
type Backend struct {
	toe.Backend
	RNIC bool
	// Err, if not nil, is what Device returns. NoMemory makes NewRegion fail.
	Err      error
	NoMemory bool
	// Rejection, if not nil, makes each Dial fail as if the peer's program had rejected it with
	// this private data.
	Rejection []byte
	// Dialing, if not nil, is called by each Dial, which returns its error.
	Dialing func() error
	// Names maps names to their addresses. Any other name is taken as an address.
	Names map[string][]string

	mu        sync.Mutex
	listeners map[string]*listener
	regions   []*region
	keys      ddp.STag
	ports     int
	solicited atomic.Int32
}

var _ rnic.Deviced = (*Backend)(nil)

// Device returns the device.
func (b *Backend) Device() (rnic.Device, error) {
	if b.Err != nil {
		return nil, b.Err
	}
	return device{b}, nil
}

// Regions returns the number of open regions.
func (b *Backend) Regions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.regions)
}

// Solicited returns the number of solicited work requests.
func (b *Backend) Solicited() int { return int(b.solicited.Load()) }

type device struct{ *Backend }

func (d device) Name() string                       { return "test0" }
func (d device) IsRNIC() bool                       { return d.RNIC }
func (d device) Can(o rnic.Op) bool                 { return !d.RNIC || o < rnic.OpFetchAdd }
func (d device) PrivateData() (request, answer int) { return 56, 196 }

type region struct {
	b    *Backend
	key  ddp.STag
	mem  []byte
	may  ddp.Access
	base uint64
}

func (d device) NewRegion(n int, may ddp.Access) (rnic.Region, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.NoMemory {
		return nil, &rnic.UnavailableError{Reason: rnic.NoResources, Err: errors.New("no memory is left")}
	}
	d.keys++
	r := &region{b: d.Backend, key: d.keys, mem: make([]byte, n), may: may, base: uint64(d.keys) << 40}
	d.regions = append(d.regions, r)
	return r, nil
}

func (r *region) Bytes() []byte { return r.mem }
func (r *region) Handle() rdmap.Handle {
	return rdmap.Handle{STag: r.key, TO: r.base, Len: uint32(len(r.mem))}
}

func (r *region) Close() error {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.regions = slices.DeleteFunc(r.b.regions, func(o *region) bool { return o == r })
	return nil
}

// workError is the result of a failed work request.
type workError rdmap.Status

func (e workError) Error() string      { return fmt.Sprintf("devicetest: work has failed, %d", uint8(e)) }
func (e workError) Kind() rdmap.Status { return rdmap.Status(e) }

type receive struct {
	id uint64
	at []byte
}

// A qp is a queue pair. The Backend's lock guards it.
type qp struct {
	b             *Backend
	peer          *qp
	local, remote net.Addr
	private       []byte
	receives      []receive
	done          []rnic.Completion
	err           error // why no more completions come
	wake          chan struct{}
	segments      int // the most for a work request
}

func (q *qp) PrivateData() []byte  { return q.private }
func (q *qp) LocalAddr() net.Addr  { return q.local }
func (q *qp) RemoteAddr() net.Addr { return q.remote }
func (q *qp) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// at returns the memory of the segments, as a copy if there are several.
func at(local []rnic.Segment) (all []byte) {
	for i, s := range local {
		b := s.Region.Bytes()[s.Off:][:s.Len]
		if i == 0 {
			all = b[:len(b):len(b)]
		} else {
			all = append(all, b...)
		}
	}
	return all
}

func (q *qp) PostReceive(id uint64, to ...rnic.Segment) error {
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	q.receives = append(q.receives, receive{id, at(to)})
	return nil
}

func (q *qp) Post(r rnic.Request, local ...rnic.Segment) error {
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	if len(local) > q.segments {
		return errSegments
	}
	c := rnic.Completion{ID: r.ID, Op: r.Op}
	if f := q.carryOut(r, at(local)); f != 0 {
		c.Err = workError(f)
	}
	if r.Solicited {
		q.b.solicited.Add(1)
	}
	q.done = append(q.done, c)
	q.signal()
	if c.Err != nil {
		q.end(rnic.ErrDisconnected)
		q.peer.end(rnic.ErrDisconnected)
	}
	return nil
}

// errSegments means that a work request has too many segments.
var errSegments = errors.New("devicetest: too many segments")

// carryOut executes a work request and returns 0 or the status of the failure.
func (q *qp) carryOut(r rnic.Request, local []byte) rdmap.Status {
	p := q.peer
	if r.Op == rnic.OpSend {
		if len(p.receives) == 0 || len(p.receives[0].at) < len(local) {
			return rdmap.StatusRemoteOperation
		}
		to := p.receives[0]
		p.receives = p.receives[1:]
		copy(to.at, local)
		p.done = append(p.done, rnic.Completion{ID: to.id, Op: rnic.OpReceive, Len: len(local)})
		p.signal()
		return 0
	}
	if len(local) == 0 {
		return 0
	}
	i := slices.IndexFunc(q.b.regions, func(o *region) bool { return o.key == r.Remote.STag })
	if i < 0 {
		return rdmap.StatusRemoteAccess
	}
	m := q.b.regions[i]
	off := r.Remote.TO - m.base
	if off > uint64(len(m.mem)) || uint64(len(local)) > uint64(len(m.mem))-off {
		return rdmap.StatusRemoteAccess
	}
	remote := m.mem[off:][:len(local)]
	switch {
	case r.Op == rnic.OpWrite && m.may&ddp.RemoteWrite != 0:
		copy(remote, local)
	case r.Op == rnic.OpRead && m.may&ddp.RemoteRead != 0:
		copy(local, remote)
	case (r.Op == rnic.OpFetchAdd || r.Op == rnic.OpCmpSwap) && m.may&ddp.RemoteAtomic != 0:
		old := binary.NativeEndian.Uint64(remote)
		copy(local, remote)
		if r.Op == rnic.OpFetchAdd {
			binary.NativeEndian.PutUint64(remote, old+r.Add)
		} else if old == r.Compare {
			binary.NativeEndian.PutUint64(remote, r.Swap)
		}
	default:
		return rdmap.StatusRemoteAccess
	}
	return 0
}

// end flushes the receives and ends the queue pair with err. The caller holds the Backend's lock.
func (q *qp) end(err error) {
	if q.err != nil {
		return
	}
	q.err = err
	for _, r := range q.receives {
		q.done = append(q.done, rnic.Completion{ID: r.id, Op: rnic.OpReceive, Err: workError(rdmap.StatusFlushed)})
	}
	q.receives = nil
	q.signal()
}

func (q *qp) Wait(ctx context.Context, dst []rnic.Completion) (int, error) {
	for {
		q.b.mu.Lock()
		n := copy(dst, q.done)
		q.done = q.done[n:]
		err := q.err
		if errors.Is(err, os.ErrClosed) {
			n = 0
		}
		q.b.mu.Unlock()
		if errors.Is(err, os.ErrClosed) || n == 0 && err != nil {
			return 0, err
		}
		if n > 0 {
			return n, nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (q *qp) Close() error {
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	q.err = os.ErrClosed
	q.receives = nil
	q.signal()
	q.peer.end(rnic.ErrDisconnected)
	return nil
}

type listener struct {
	b       *Backend
	address string
	dials   chan *dial
	closed  chan struct{}
	once    sync.Once
}

// A dial is a request for a connection.
type dial struct {
	qp     *qp
	answer chan error
}

// errRefused is what Dial returns if the peer does not accept.
var errRefused = fmt.Errorf("devicetest: %w", syscall.ECONNREFUSED)

func (d device) Resolve(_ context.Context, _, address string) ([]string, error) {
	if all := d.Names[address]; all != nil {
		return all, nil
	}
	return []string{address}, nil
}

func (d device) Dial(ctx context.Context, _, address string, cfg rnic.QPConfig) (rnic.QP, error) {
	d.mu.Lock()
	l := d.listeners[address]
	d.ports++
	q := &qp{b: d.Backend, local: addr("test:" + strconv.Itoa(d.ports)), remote: addr(address), private: fill(cfg.PrivateData, 56, d.RNIC), wake: make(chan struct{}, 1), segments: cfg.Segments}
	d.mu.Unlock()
	if d.Dialing != nil {
		if err := d.Dialing(); err != nil {
			return nil, err
		}
	}
	if d.Rejection != nil {
		return nil, &rnic.RejectError{PrivateData: fill(d.Rejection, 148, d.RNIC), Err: errRefused}
	}
	if l == nil {
		return nil, errRefused
	}
	if err := cfg.Prepare(q); err != nil {
		return nil, err
	}
	r := &dial{q, make(chan error, 1)}
	select {
	case l.dials <- r:
	case <-l.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-r.answer:
		if err != nil {
			return nil, err
		}
		return q, nil
	case <-l.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fill pads private data to most bytes with zeros, as a channel adapter does. An RNIC does not.
func fill(b []byte, most int, rnic bool) []byte {
	if rnic {
		return b
	}
	return append(slices.Clone(b), make([]byte, most-len(b))...)
}

func (d device) Listen(_ context.Context, _, address string) (rnic.QPListener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listeners == nil {
		d.listeners = map[string]*listener{}
	}
	if d.listeners[address] != nil {
		return nil, errors.New("devicetest: the address is in use")
	}
	l := &listener{b: d.Backend, address: address, dials: make(chan *dial), closed: make(chan struct{})}
	d.listeners[address] = l
	return l, nil
}

func (l *listener) Accept(ctx context.Context, cfg rnic.QPConfig) (rnic.QP, error) {
	select {
	case r := <-l.dials:
		q := &qp{b: l.b, peer: r.qp, local: addr(l.address), remote: r.qp.local, private: r.qp.private, wake: make(chan struct{}, 1), segments: cfg.Segments}
		answer := cfg.PrivateData
		if cfg.Answer != nil {
			answer = cfg.Answer(q.private)
		}
		if err := cfg.Prepare(q); err != nil {
			r.answer <- errRefused
			return nil, err
		}
		l.b.mu.Lock()
		r.qp.peer, r.qp.private = q, fill(answer, 196, l.b.RNIC)
		l.b.mu.Unlock()
		r.answer <- nil
		return q, nil
	case <-l.closed:
		return nil, os.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) IsPeer(error) bool { return false }
func (l *listener) Addr() net.Addr    { return addr(l.address) }

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.b.mu.Lock()
		defer l.b.mu.Unlock()
		delete(l.b.listeners, l.address)
	})
	return nil
}

type addr string

func (a addr) Network() string { return "test" }
func (a addr) String() string  { return string(a) }
