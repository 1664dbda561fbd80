package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A Config describes a connection. The zero value of a number means the default.
type Config struct {
	// Sends and Receives are the maximum numbers of outstanding work requests of each kind; default
	// 64.
	Sends, Receives int
	// Segments is the maximum number of Segments of a work request; default 4.
	Segments int
	// Reads is the maximum number of RDMA Reads that each end serves at a time, and has
	// outstanding; default 16, maximum 255.
	Reads int
	// NoFlush means that the program does not need the completions of work requests that are
	// outstanding when the connection ends. Wait then does not wait until the device has flushed
	// them.
	NoFlush bool
	// PrivateData is sent to the peer's program with the request for the connection, or with the
	// answer: at most 255 bytes. A channel adapter carries at most 56 in a request and 196 in an
	// answer, and pads with zeros.
	PrivateData []byte
	// Prepare is called before the peer can send anything. It posts the first receives: with most
	// devices, a Send that finds no receive ends the connection. On an end that accepts, Prepare
	// may also look at the peer's private data. An error of Prepare ends the connection, or refuses
	// it.
	Prepare func(*QP) error
	// Answer, if not nil, returns the private data of an answer to the given request. It is called
	// before Prepare, and PrivateData is then not used.
	Answer func(request []byte) []byte
}

// most is the maximum of each number of a Config.
const most = 1 << 16

func (c *Config) depths() depths {
	return depths{uint32(c.Sends), uint32(c.Receives), uint32(c.Segments)}
}

func (c *Config) fill() error {
	for _, f := range []struct {
		n           *int
		usual, most int
	}{{&c.Sends, 64, most}, {&c.Receives, 64, most}, {&c.Segments, 4, 1 << 10}, {&c.Reads, 16, 255}} {
		if *f.n == 0 {
			*f.n = f.usual
		}
		if *f.n < 0 || *f.n > f.most {
			return fmt.Errorf("verbs: %d in a Config, the maximum is %d", *f.n, f.most)
		}
	}
	if n := len(c.PrivateData); n > mostPrivate {
		return fmt.Errorf("verbs: %d bytes of private data, the maximum is %d", n, mostPrivate)
	}
	return nil
}

// mostPrivate is the maximum length of private data in bytes. The other constants are the limits of
// a channel adapter.
const (
	mostPrivate        = ucma.PrivateDataLen - 1
	mostPrivateRequest = 56
	mostPrivateAnswer  = 196
)

// A QP is a connection: the queue pair, and the completion queue of both its queues. Its methods
// may be called from any goroutine; only one call of Wait at a time is allowed.
type QP struct {
	*end
	channel     *os.File // of the completion queue
	number      uint32
	qp, cq      uint32 // handles
	hasCQ, isQP bool
	mapped      [][]byte

	post     locks.Mutex[locks.VerbsPost] // guards the two queues, the outstanding work requests, and the memory of a doorbell
	bell     [32]byte
	answer   [8]byte
	pinned   runtime.Pinner
	sends    sendQueue
	receives receiveQueue
	sq, rq   account
	list     []uverbs.SGE
	readList int // maximum number of segments of an OpRead
	private  []byte
	route    ucma.Route
	noFlush  bool

	poll locks.Mutex[locks.VerbsWait] // held by Wait
	done completionQueue
	// flushBy is the time until which completions are due after the connection has ended.
	flushBy time.Time
}

// newQP makes the queues of e, and lets the program post its first receives.
// private is the peer's private data, if it is known already.
func newQP(e *end, cfg Config, private []byte, mostPrivate int) (*QP, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if !e.d.rnic && len(cfg.PrivateData) > mostPrivate {
		return nil, unavailable(NotSupported, fmt.Errorf("%d bytes of private data on %s", len(cfg.PrivateData), e.d.name))
	}
	route, err := e.route()
	if err != nil {
		return nil, err
	}
	if l := e.d.limits; cfg.depths().exceeds(&l, e.d.provider.segments) {
		return nil, unavailable(NoResources, fmt.Errorf("%s has queues of at most %d work requests, of %d segments", e.d.name, l.MaxQPWR, l.MaxSGE))
	}
	q := &QP{end: e, private: private, route: route, noFlush: cfg.NoFlush}
	e.mu.Lock()
	e.finish = q.release
	e.mu.Unlock()
	if err := q.make(cfg); err != nil {
		return nil, err
	}
	if cfg.Prepare != nil {
		if err := cfg.Prepare(q); err != nil {
			return nil, err
		}
	}
	return q, e.cause()
}

// make makes the queues, unless q has been closed in the meantime. release waits until make has
// ended.
func (q *QP) make(cfg Config) error {
	q.poll.Lock()
	defer q.poll.Unlock()
	if err := q.cause(); err != nil {
		return err
	}
	if err := q.makeCQ(cfg); err != nil {
		return err
	}
	return q.makeQP(cfg)
}

func (q *QP) makeCQ(cfg Config) error {
	var fd, cqe uint32
	if err := q.d.do(uverbs.CreateCompChannel, uverbs.AppendAnswered(nil), nil, &fd); err != nil {
		return err
	}
	f, err := adopt(fd, "completions")
	if err != nil {
		return &DeviceError{"CREATE_COMP_CHANNEL", err}
	}
	q.channel = f
	q.mu.Lock()
	q.wake = func() { _ = f.SetReadDeadline(time.Unix(1, 0)) } // without deadlines, makeCQ has failed
	q.mu.Unlock()
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return &DeviceError{"CREATE_COMP_CHANNEL", err}
	}
	n := cfg.depths()
	driver := make([]byte, q.d.provider.cqOut)
	in := uverbs.CQ{UserHandle: q.uid, CQE: n.sends + n.receives, Channel: int32(fd)}
	if err := q.d.do(uverbs.CreateCQ, in.AppendTo(nil), driver, &q.cq, &cqe); err != nil {
		return err
	}
	q.hasCQ = true
	q.done, err = q.d.provider.openCQ(q.mapQueue, driver, n)
	return err
}

func (q *QP) makeQP(cfg Config) error {
	n := cfg.depths()
	in := uverbs.QP{
		UserHandle: q.uid, PD: q.d.pd, SendCQ: q.cq, RecvCQ: q.cq, SignalAll: true, Type: uverbs.RC,
		Caps: uverbs.Caps{MaxSendWR: n.sends, MaxRecvWR: n.receives, MaxSendSGE: n.segments, MaxRecvSGE: n.segments},
	}
	out, driver := make([]byte, uverbs.CreateQPLen), make([]byte, q.d.provider.qpOut)
	if err := invoke(q.d.file, q.d.command(uverbs.CreateQP, in.AppendTo(nil), out, driver)); err != nil {
		return failed("CREATE_QP", err)
	}
	q.isQP = true
	var err error
	if q.qp, q.number, _, err = uverbs.ParseCreatedQP(out); err != nil {
		return &DeviceError{"CREATE_QP", err}
	}
	if q.sends, q.receives, err = q.d.provider.openQP(q.mapQueue, driver, n); err != nil {
		return err
	}
	q.sq = account{depth: cfg.Sends, overtakes: q.d.provider.overtakes}
	q.rq = account{depth: cfg.Receives}
	q.list = make([]uverbs.SGE, 0, cfg.Segments)
	q.readList = min(cfg.Segments, int(q.d.limits.MaxReadSGE))
	q.pinned.Pin(&q.answer)
	uverbs.AppendDoorbell(q.bell[:0], q.qp, address(q.answer[:4]))
	return q.change(uverbs.Init)
}

// mapQueue maps a queue until release.
func (q *QP) mapQueue(m uverbs.Mapping) ([]byte, error) {
	b, err := mapQueue(q.d.file, m)
	if err != nil {
		return nil, failed("mapping a queue", err)
	}
	q.mapped = append(q.mapped, b)
	return b, nil
}

// change moves the queue pair to a state, with the attributes that rdma_cm has for it.
func (q *QP) change(to uverbs.State) error {
	out, err := command(q.d.cm, ucma.InitQPAttr, uverbs.AttributesLen, func(at uint64) []byte {
		return ucma.Numbers{Response: at, ID: q.id, Other: uint32(to)}.AppendAnswered(nil)
	})
	if err != nil {
		return failed("INIT_QP_ATTR", err)
	}
	mask, a, err := uverbs.ParseAttributes(out)
	if err != nil {
		return &DeviceError{"INIT_QP_ATTR", err}
	}
	if to == uverbs.Init {
		a.Access |= q.d.access()
	}
	if a.State = to; mask == 0 {
		return nil // the device enters this state with the connection
	}
	c := uverbs.Change{Handle: q.qp, Mask: mask | uverbs.MaskState, To: a}
	return q.d.do(uverbs.ModifyQP, c.AppendTo(nil), nil)
}

// join makes the queue pair of a channel adapter ready, once the peer's queue pair is known. The
// queue pair of an RNIC is ready with the connection.
func (q *QP) join() error {
	q.poll.Lock() // release waits for its end
	defer q.poll.Unlock()
	if err := q.cause(); err != nil {
		return err
	}
	if err := q.change(uverbs.RTR); err != nil {
		return err
	}
	return q.change(uverbs.RTS)
}

// PrivateData returns the data that the peer's program has sent with its request, or with its
// answer. On an end that dials, they are available once Dial has returned. The caller must not
// change it.
func (q *QP) PrivateData() []byte { return q.private }

// Addrs returns the addresses of both ends.
func (q *QP) Addrs() (local, remote netip.AddrPort) { return q.route.Src, q.route.Dst }

// param returns the parameters of the queue pair that the peer gets.
func (q *QP) param(cfg Config) ucma.ConnParam {
	_ = cfg.fill() // newQP has checked it
	reads := uint8(min(uint32(cfg.Reads), max(q.d.limits.MaxRead, 1)))
	return ucma.ConnParam{QPN: q.number, Responder: reads, Initiator: reads, PrivateData: cfg.PrivateData, RetryCount: 7, RNRetry: 7, Valid: true}
}

// Post posts a work request with local memory, which belongs to the device until the Completion. A
// Send or Write takes the data from the segments, and an OpRead puts them there. An atomic puts 8
// bytes into its one segment. The errors are [ErrQueueFull], [ErrSegment], [ErrDisconnected],
// os.ErrClosed, *[DeviceError], and *[UnavailableError] if the device does not have the operation.
func (q *QP) Post(r Request, local ...Segment) error {
	if !q.d.Can(r.Op) || r.Op == OpReceive {
		return unavailable(NotSupported, fmt.Errorf("%v on %s", r.Op, q.d.name))
	}
	if isAtomic(r.Op) && (len(local) != 1 || local[0].Len != 8 || r.Remote.TO%8 != 0) {
		return ErrSegment
	}
	q.post.Lock()
	defer q.post.Unlock()
	if r.Op == OpRead && len(local) > q.readList {
		return ErrSegment
	}
	err := q.put(&q.sq, work{id: r.ID, op: r.Op}, local, func(n uint64) bool {
		return q.sends.Put(sendWR(&r, n), q.list)
	})
	if err != nil {
		return err
	}
	return q.doorbell()
}

// PostReceive posts a receive: the next Send of the peer goes to the segments, in their order. The
// memory belongs to the device until the Completion. The errors are those of Post.
func (q *QP) PostReceive(id uint64, to ...Segment) error {
	q.post.Lock()
	defer q.post.Unlock()
	return q.put(&q.rq, work{id: id, op: OpReceive}, to, func(n uint64) bool { return q.receives.Put(n|receiveBit, q.list) })
}

// put puts a work request with q.list into a queue by calling put with the number that its
// completion must have. The caller holds q.post.
func (q *QP) put(to *account, w work, segments []Segment, put func(n uint64) bool) error {
	if err := q.cause(); err != nil {
		return err
	}
	if len(segments) > cap(q.list) {
		return ErrSegment
	}
	q.d.regions.RLock()
	defer q.d.regions.RUnlock()
	q.list = q.list[:0]
	for _, s := range segments {
		e, err := entry(s, q.d)
		if err != nil {
			return err
		}
		q.list = append(q.list, e)
		if w.len += s.Len; int64(w.len) > uverbs.MaxMessage {
			return ErrSegment
		}
	}
	if to.full() || !put(to.tail) {
		return ErrQueueFull
	}
	to.add(w)
	return nil
}

// doorbell tells the device that the send queue has entries.
func (q *QP) doorbell() error {
	_, err := q.d.file.Write(q.bell[:])
	if errors.Is(err, syscall.ENOTCONN) { // from siw, when the connection is ending; the work request is in the queue
		q.fail(ErrDisconnected)
		return nil
	}
	if err != nil {
		err = failed("doorbell", err)
		q.fail(err)
		return err
	}
	return nil
}

// Wait waits for completions and fills dst with at least one, each once, in the order of each
// queue; with siw, Reads have their own order. The error is ctx.Err(). Once the connection has
// ended and no completion is left, it is [ErrDisconnected], os.ErrClosed or a *[DeviceError]. Work
// requests without a completion then have no known result.
func (q *QP) Wait(ctx context.Context, dst []Completion) (n int, err error) {
	if len(dst) == 0 {
		return 0, nil
	}
	q.poll.Lock()
	defer q.poll.Unlock()
	defer context.AfterFunc(ctx, func() { _ = q.channel.SetReadDeadline(time.Unix(1, 0)) })()
	for {
		// An event that ends the wait sets the deadline again, after it can be seen below.
		_ = q.channel.SetReadDeadline(q.flushBy)
		cause := q.cause()
		if errors.Is(cause, os.ErrClosed) {
			return 0, cause
		}
		if n, err := q.take(dst); n > 0 || err != nil {
			return n, err
		}
		if cause != nil {
			if begins := q.flushBy.IsZero(); !q.flushing(cause) {
				return 0, cause
			} else if begins {
				continue // to set the deadline, which must not happen after the cause was read
			}
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err := q.arm(); err != nil {
			q.fail(err)
			return 0, err
		}
		if n, err := q.take(dst); n > 0 || err != nil {
			return n, err
		}
		q.sleep()
	}
}

// arm makes the next completion wake q.
func (q *QP) arm() error {
	if a, ok := q.done.(armer); ok {
		a.Arm()
		return nil
	}
	return q.d.do(uverbs.ReqNotifyCQ, uverbs.AppendWords(nil, q.cq, 0), nil)
}

// flushing reports whether completions are still due for a connection that has ended because of
// cause. The first call makes the device complete the outstanding work requests.
func (q *QP) flushing(cause error) bool {
	if q.noFlush {
		return false
	}
	q.post.Lock()
	due := !q.sq.empty() || !q.rq.empty()
	q.post.Unlock()
	if !due || !errors.Is(cause, ErrDisconnected) {
		return false
	}
	if !q.flushBy.IsZero() {
		return time.Now().Before(q.flushBy)
	}
	q.flushBy = time.Now().Add(q.d.provider.flushTime)
	c := uverbs.Change{Handle: q.qp, Mask: uverbs.MaskState, To: uverbs.Attributes{State: uverbs.Err}}
	return q.d.do(uverbs.ModifyQP, c.AppendTo(nil), nil) == nil
}

// sleep waits for an event of the completion queue, or until something wakes it.
func (q *QP) sleep() {
	var b [uverbs.EventLen]byte
	n, err := q.channel.Read(b[:])
	if err == nil && n < len(b) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		q.fail(&DeviceError{"completion event", err})
	}
}

// take takes available completions.
func (q *QP) take(dst []Completion) (n int, err error) {
	q.post.Lock()
	defer q.post.Unlock()
	for n < len(dst) {
		wc, ok, err := q.done.Take()
		if err == nil && ok {
			dst[n], err = q.complete(&wc)
		}
		if err != nil {
			err = &DeviceError{"completion", err}
			q.fail(err)
			return n, err
		}
		if !ok {
			break
		}
		n++
	}
	return n, nil
}

// complete returns the Completion for the device's completion wc, which must belong to the oldest
// work request of its line.
func (q *QP) complete(wc *uverbs.WC) (c Completion, err error) {
	from := &q.sq
	if wc.ID&receiveBit != 0 {
		from = &q.rq
	}
	w, err := from.take(wc.ID &^ receiveBit)
	if err != nil {
		return c, err
	}
	return w.complete(wc)
}

// Close ends the connection and releases its queues. Outstanding work requests get no completion,
// and their memory is no longer used when Close returns. Close ends a blocked Wait.
func (q *QP) Close() error {
	q.close()
	return nil
}

// release releases the device's resources of q. The end is closed, so no new use begins.
func (q *QP) release() {
	_ = q.send(ucma.Disconnect, ucma.AppendNumber(nil, q.id)) // it may never have been connected
	q.poll.Lock()
	defer q.poll.Unlock()
	q.post.Lock()
	defer q.post.Unlock()
	var x, y uint32
	if q.isQP {
		_ = q.d.do(uverbs.DestroyQP, uverbs.AppendAnswered(nil, q.qp, 0), nil, &x) // if it fails, closing the file destroys the queue pair
	}
	if q.hasCQ {
		_ = q.d.do(uverbs.DestroyCQ, uverbs.AppendAnswered(nil, q.cq, 0), nil, &x, &y)
	}
	for _, b := range q.mapped {
		unmap(b)
	}
	q.pinned.Unpin()
	if q.channel != nil {
		_ = q.channel.Close() // the file is closed anyway
	}
}
