package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/states"
)

// patience is how long a call that makes a connection waits if its context has no deadline.
const patience = 30 * time.Second

// patient bounds ctx by patience, unless it has a deadline.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// resolveTime is how long the device looks for an address or a route, in milliseconds.
const resolveTime = 5000

// A state is the state of an end, which end.failLocked and end.close change:
//
//	live ──▶ failing ──▶ closed
type state uint8

const (
	live    state = iota
	failing       // the field why has the reason; the device still holds resources
	closed        // nothing is left
)

var stateNames = [...]string{"live", "failing", "closed"}

func (s state) String() string { return stateNames[s] }

var stateNext = states.Table[state]{
	live:    states.To(failing),
	failing: states.To(closed),
	closed:  0,
}

// An end is an id of rdma_cm: a connection or a listener.
type end struct {
	d      *Device
	uid    uint64 // identifies the end in events
	id     uint32
	events chan ucma.Event
	over   chan struct{} // closed when the end is no longer live
	wake   func()        // wakes the goroutine that waits for completions
	finish func()        // releases the device's resources of the end

	mu    locks.Mutex[locks.Leaf]
	state state
	why   error // why it is no longer live
	met   bool  // a channel adapter's peer has answered: a rejection is now the end of the connection
	// isOnDevice means that the device of the id is known to be d.
	isOnDevice bool

	closing sync.Once
}

// makeEnd makes an end from an id. room is the maximum number of events that may wait.
func makeEnd(d *Device, uid uint64, id uint32, room int) *end {
	return &end{d: d, uid: uid, id: id, events: make(chan ucma.Event, room), over: make(chan struct{}), wake: func() {}, finish: func() {}}
}

// newEnd creates an id. An id has no events before it is used.
func newEnd(d *Device, room int) (*end, error) {
	uid := d.number()
	out, err := command(d.cm, ucma.CreateID, 4, func(at uint64) []byte {
		const rc = 2
		return (&ucma.IDRequest{UID: uid, Response: at, PortSpace: ucma.TCP, QPType: rc}).AppendTo(nil)
	})
	if err != nil {
		return nil, failed("CREATE_ID", err)
	}
	id, _ := ucma.ParseNumber(out) // it has 4 bytes
	e := makeEnd(d, uid, id, room)
	if err := d.add(e); err != nil {
		d.destroyID(id)
		return nil, err
	}
	return e, nil
}

// take takes an event. It returns false if there is no room, or nobody waits for it.
func (e *end) take(ev ucma.Event) bool {
	switch ev.Type {
	case ucma.Disconnected:
		e.fail(ErrDisconnected)
		return true
	case ucma.DeviceRemoval:
		err := &DeviceError{"rdma_cm", fmt.Errorf("%v", ev.Type)}
		e.fail(err)
		e.mu.Lock()
		gone := e.isOnDevice
		e.mu.Unlock()
		if gone {
			e.d.fail(err) // so that a Backend closes d: until then the system does not release the device
		}
		return true
	case ucma.TimewaitExit, ucma.AddrChange:
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != live {
		return false
	}
	if e.met && ev.Type == ucma.Rejected {
		e.failLocked(ErrDisconnected)
		return true
	}
	select {
	case e.events <- ev:
		return true
	default:
		return false
	}
}

// fail ends the work of e, and records why.
func (e *end) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failLocked(err)
}

func (e *end) failLocked(err error) {
	if e.state != live {
		return
	}
	stateNext.Become(&e.state, failing)
	e.why = err
	close(e.over)
	e.wake()
}

// cause returns why e is not live, or nil.
func (e *end) cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == closed {
		return os.ErrClosed
	}
	return e.why
}

// orClosed returns os.ErrClosed if Device.Close has closed e, and otherwise err, the error of a
// command. A command fails in the same way if the id is gone or if there is no device.
func (e *end) orClosed(err error) error {
	if cause := e.cause(); errors.Is(cause, os.ErrClosed) {
		return cause
	}
	return err
}

// close releases everything. A second call waits for the first.
func (e *end) close() {
	e.closing.Do(func() {
		e.fail(os.ErrClosed)
		e.mu.Lock()
		stateNext.Become(&e.state, closed)
		e.wake() // of an end that has failed before, Wait may wait for what is flushed
		finish := e.finish
		e.mu.Unlock()
		finish()
		e.d.remove(e)
		e.d.destroyID(e.id)
		for {
			select {
			case ev := <-e.events:
				if ev.Type == ucma.ConnectRequest {
					e.d.refuse(ev.ID)
				}
			default:
				return
			}
		}
	})
}

// await waits for an event, which must be of the given type. An event that came before the peer's
// end counts, because the peer may have sent something between the two.
func (e *end) await(ctx context.Context, want ucma.EventType) (ucma.Event, error) {
	select {
	case ev := <-e.events:
		return ev, isDue(ev, want)
	case <-e.over:
	case <-ctx.Done():
		return ucma.Event{}, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == ErrDisconnected { //nolint:errorlint // as take has it
		select {
		case ev := <-e.events:
			return ev, isDue(ev, want)
		default:
		}
	}
	return ucma.Event{}, e.why // not cause(): an end that has failed may be closed already
}

// isDue returns the error of an event, unless it is a good one of the given type.
func isDue(ev ucma.Event, want ucma.EventType) error {
	if ev.Type != want || ev.Status != 0 {
		return refused(ev)
	}
	return nil
}

// send sends a command without an answer.
func (e *end) send(cmd ucma.Command, in []byte) error {
	_, err := command(e.d.cm, cmd, 0, func(uint64) []byte { return in })
	return failed(cmd.String(), err)
}

// route returns the addresses of e, which must be on the device e.d. A listener at all addresses is
// on every device; then its connections must be on e.d.
func (e *end) route() (ucma.Route, error) {
	out, err := command(e.d.cm, ucma.Query, ucma.AddrLen, func(at uint64) []byte {
		return ucma.Numbers{Response: at, ID: e.id, Other: ucma.QueryAddr}.AppendAnswered(nil)
	})
	if err != nil {
		return ucma.Route{}, failed("QUERY", err)
	}
	r, err := ucma.ParseAddr(out)
	if err != nil {
		return r, &DeviceError{"QUERY", err}
	}
	if r.GUID != e.d.limits.GUID && !r.Src.Addr().IsUnspecified() {
		return r, unavailable(NotSupported, fmt.Errorf("the route to %v does not use %s", r.Dst, e.d.name))
	}
	e.mu.Lock()
	e.isOnDevice = r.GUID == e.d.limits.GUID
	e.mu.Unlock()
	return r, nil
}

// Dial connects to a peer. If ctx has no deadline, Dial gives up after 30 seconds. Its errors are
// *[ConnectError], *[UnavailableError], *[DeviceError], the error of ctx, and the error of
// cfg.Prepare.
func (d *Device) Dial(ctx context.Context, addr netip.AddrPort, cfg Config) (*QP, error) {
	if err := hasNoZone(addr); err != nil {
		return nil, err
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	e, err := newEnd(d, 4)
	if err != nil {
		return nil, err
	}
	q, err := e.dial(ctx, addr, cfg)
	if err != nil {
		err = e.orClosed(err)
		e.close()
		return nil, disconnected(err)
	}
	return q, nil
}

func (e *end) dial(ctx context.Context, addr netip.AddrPort, cfg Config) (*QP, error) {
	to := ucma.Resolution{ID: e.id, Dst: ucma.Address{AddrPort: addr}}
	if err := e.send(ucma.ResolveAddr, to.AppendTo(nil, resolveTime)); err != nil {
		return nil, err
	}
	if _, err := e.await(ctx, ucma.AddrResolved); err != nil {
		return nil, err
	}
	if err := e.send(ucma.ResolveRoute, ucma.Numbers{ID: e.id, Other: resolveTime}.AppendPlain(nil)); err != nil {
		return nil, err
	}
	if _, err := e.await(ctx, ucma.RouteResolved); err != nil {
		return nil, err
	}
	q, err := newQP(e, cfg, nil, mostPrivateRequest)
	if err != nil {
		return nil, err
	}
	r := ucma.ConnRequest{ID: e.id, Param: q.param(cfg)}
	if err := e.send(ucma.Connect, r.AppendConnect(nil)); err != nil {
		return nil, err
	}
	want := ucma.ConnectResponse
	if e.d.rnic {
		want = ucma.Established
	}
	ev, err := e.await(ctx, want)
	if q.private = ev.Param.PrivateData; err != nil || e.d.rnic {
		return q, err
	}
	return q, q.confirm()
}

// confirm tells the peer that the connection is established, with a second answer, without
// parameters. A peer that leaves before it has that answer rejects instead of disconnecting.
func (q *QP) confirm() error {
	q.mu.Lock()
	q.met = true
	q.mu.Unlock()
	err := q.join()
	if err == nil {
		err = q.send(ucma.Accept, (&ucma.ConnRequest{UID: q.uid, ID: q.id}).AppendAccept(nil))
	}
	return left(err)
}

// hasNoZone returns an *UnavailableError for an address with a zone: commands of rdma_cm have no
// zone, and without it the address means another host, or none.
func hasNoZone(addr netip.AddrPort) error {
	if z := addr.Addr().Zone(); z != "" {
		return unavailable(NotSupported, fmt.Errorf("the zone %q of %v", z, addr))
	}
	return nil
}

// A Listener takes requests for connections. Its methods may be called from any goroutine.
type Listener struct {
	end  *end
	addr netip.AddrPort
}

// backlog is the maximum number of requests that may wait for Accept.
const backlog = 128

// Listen listens on an address of the device. Port 0 means any.
func (d *Device) Listen(addr netip.AddrPort) (*Listener, error) {
	if err := hasNoZone(addr); err != nil {
		return nil, err
	}
	e, err := newEnd(d, backlog)
	if err != nil {
		return nil, err
	}
	b := ucma.BindRequest{ID: e.id, Addr: ucma.Address{AddrPort: addr}}
	err = e.send(ucma.Bind, b.AppendTo(nil))
	if errors.Is(err, syscall.ENODEV) {
		err = unavailable(NotSupported, fmt.Errorf("%v is not the address of a device", addr))
	}
	if err == nil {
		err = e.send(ucma.Listen, ucma.Numbers{ID: e.id, Other: backlog}.AppendPlain(nil))
	}
	var r ucma.Route
	if err == nil {
		r, err = e.route()
	}
	if err != nil {
		err = e.orClosed(err)
		e.close()
		return nil, err
	}
	return &Listener{e, r.Src}, nil
}

// Addr returns the address that the Listener listens on.
func (l *Listener) Addr() netip.AddrPort { return l.addr }

// Close ends the Listener, and a blocked Accept with os.ErrClosed. Requests that nobody has
// accepted are refused. Connections remain.
func (l *Listener) Close() error {
	l.end.close()
	return nil
}

// Accept waits for a request and accepts it. A *[ConnectError] is about one peer, such as one that
// has left, and so is an error of cfg.Prepare: the Listener continues. Once there is a request,
// Accept gives up after 30 seconds if ctx has no deadline.
func (l *Listener) Accept(ctx context.Context, cfg Config) (*QP, error) {
	ev, err := l.end.await(ctx, ucma.ConnectRequest)
	if err != nil {
		return nil, err
	}
	bounded, cancel := patient(ctx)
	defer cancel()
	d := l.end.d
	e := makeEnd(d, d.number(), ev.ID, 4)
	if err := d.add(e); err != nil {
		d.refuse(ev.ID)
		return nil, err
	}
	q, err := e.accept(bounded, cfg, ev.Param.PrivateData)
	if err != nil {
		err = e.orClosed(err)
		e.close()
		if bounded.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil, &ConnectError{Event: ucma.Unreachable.String(), Status: -int32(syscall.ETIMEDOUT)}
		}
		return nil, left(err)
	}
	return q, nil
}

func (e *end) accept(ctx context.Context, cfg Config, private []byte) (*QP, error) {
	if cfg.Answer != nil {
		cfg.PrivateData = cfg.Answer(private)
	}
	q, err := newQP(e, cfg, private, mostPrivateAnswer)
	if err != nil {
		return nil, err
	}
	if !e.d.rnic {
		if err := q.join(); err != nil {
			return nil, err
		}
	}
	r := ucma.ConnRequest{UID: e.uid, ID: e.id, Param: q.param(cfg)}
	if err := e.send(ucma.Accept, r.AppendAccept(nil)); err != nil {
		return nil, err
	}
	_, err = e.await(ctx, ucma.Established)
	return q, err
}
