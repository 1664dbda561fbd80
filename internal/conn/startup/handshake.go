package startup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/toe"
)

// A Config says how a connection begins. It does not change.
type Config struct {
	Initiator bool
	Prefer    bool // the connection may end in plain TCP, and the accepting end sniffs
	Off       bool // nothing begins before the program asks for it: the first phase is Plain
	Judge     bool // the program calls ReceiveRequest
	// Foreign makes this end behave like an iWARP end that is not rddp: it leaves a capability
	// record to the program, as a part of the private data.
	Foreign bool
	// Err, if not nil, says what is wrong with the Config of package extsock. Each call that would
	// begin MPA startup by itself returns it.
	Err error

	// SniffTimeout is how long the peer may send nothing before the accepting end takes it for
	// plain TCP. Zero means no limit until a Write, or the Close of a Listener's connection, waits.
	// A negative value means no limit until such a Close waits.
	SniffTimeout time.Duration
	// Timeout is how long the peer may take for the rest of what may become a Request.
	Timeout time.Duration

	Door *Door // of the Listener; nil: none
	Tap  Tap
}

// A Tap sees the startup frames, in order, as they pass. It must not keep them.
type Tap interface {
	// Sent is called before a frame is sent.
	Sent(frame []byte)
	// Received is called with a frame that has come. If it is not whole, frame is the part that
	// came before the error, and may be empty.
	Received(frame []byte, whole bool)
}

// firstWait is how long a Write or Close waits for the first bytes of a silent peer.
const firstWait = time.Second

// A Handshake is the startup of one connection. It starts no goroutine of its own: a call that
// begins something tells its caller to run it. All methods may be called from any goroutine.
type Handshake struct {
	stream toe.Stream
	cfg    Config
	// closed is set, with mu held, when the connection is closed. It is not a phase, because
	// startup that belongs to a Listener goes on after Close, through its remaining phases.
	closed wait.Latch
	phase  states.Atomic[Phase] // setPhase changes it with mu held, and calls in DDP mode read it without
	// isAhead says that ahead or aheadErr is set. Each Read in TCP mode looks at it without mu.
	isAhead atomic.Bool

	mu       locks.Mutex[locks.Startup]
	owner    owner         // +checklocks:mu
	claim    claim         // +checklocks:mu
	bound    bound         // +checklocks:mu
	err      error         // +checklocks:mu
	fallback Fallback      // +checklocks:mu
	over     chan struct{} // +checklocks:mu
	request  *Request      // +checklocks:mu
	reads    int           // +checklocks:mu
	writes   int           // +checklocks:mu
	ahead    []byte        // +checklocks:mu
	aheadErr error         // +checklocks:mu
	until    time.Time     // +checklocks:mu
	half     *halfOpen     // +checklocks:mu

	looks  chan struct{} // +checklocks:mu
	trying bool          // +checklocks:mu

	readDeadline  time.Time // +checklocks:mu
	writeDeadline time.Time // +checklocks:mu

	// err is what calls get in the phases Failed and Terminating. over is nil unless a
	// call waits, and closed when the present part of startup ends; the call then looks at the
	// phase. request is the Request of the phases Asked and Answering. reads and writes count the
	// plain Reads and Writes under way: a switch may not begin meanwhile.
	//
	// claim is not a phase, because calls of ReceiveRequest come and go while the phase is
	// Sniffing.
	//
	// ahead is what was read from the stream and not given out, and aheadErr is the error behind
	// it. While the phase is Sniffing only Sniff changes them. until is when Sniff stops and takes
	// the connection for plain TCP; zero means never. half is not nil while the Listener counts the
	// connection as half open. The deadlines are the program's, which the stream has except while
	// startup is under way.
	//
	// looks holds an element while a Look is under way, or a Read of what is ahead. It is nil
	// before the first Look. trying says that the stream has the deadline of a Look.
}

// An owner says what runs startup, and so which calls return its error. It is not a phase: each
// phase may have any owner.
type owner uint8

const (
	ownedByCall     owner = iota // a call of the program, which returns the error
	ownedByItself                // a goroutine that a first use began; later calls return the error
	ownedByListener              // the Listener's goroutine, which sees startup to its end even after Close
)

// New returns the Handshake of a connection that has just begun.
func New(s toe.Stream, cfg Config) *Handshake {
	h := new(Handshake)
	h.Init(s, cfg)
	return h
}

// Init makes h what New returns. It is for an owner that has the Handshake in its own memory, and
// must be called before the other methods.
func (h *Handshake) Init(s toe.Stream, cfg Config) {
	h.stream, h.cfg = s, cfg
	if cfg.Off {
		h.phase.Init(Plain)
	}
}

// A Use is what a call does with the connection.
type Use int

const (
	Waiting Use = iota // nothing but wait for the end of startup
	Reading
	Writing
)

// An Entry says how a call goes on after Enter.
type Entry struct {
	DDP bool // the connection is in DDP mode
	// Over, unless it is nil, means that the call must wait until Over is closed, and then call
	// Enter again.
	Over <-chan struct{}
	// Begun means that the call has begun startup: the caller must start a goroutine that runs it.
	Begun bool
}

// Enter begins a call that uses the connection. It begins startup if that is due. In TCP mode the
// call is counted until Leave.
func (h *Handshake) Enter(u Use) (Entry, error) {
	if h.Phase() == DDP && !h.IsClosed() {
		return Entry{DDP: true}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch p := h.Phase(); {
	case p == Failed || p == Terminating:
		return Entry{}, h.err
	case h.IsClosed():
		return Entry{}, net.ErrClosed
	case p == DDP:
		return Entry{DDP: true}, nil
	case p == Plain:
		h.claim = unclaimed // the program has found out by itself
		h.count(u, 1)
		return Entry{}, nil
	}
	begun := !h.Phase().isUnderWay()
	if begun {
		if err := h.beginLocked(ownedByItself); err != nil {
			return Entry{}, err
		}
		if h.Phase() == Plain { // the peer has sent bytes first, so it is not a Responder
			h.count(u, 1)
			return Entry{}, nil
		}
	}
	if u == Writing && h.cfg.SniffTimeout == 0 { // the peer may wait for what is to be written
		h.hurryLocked()
	}
	return Entry{Over: h.overLocked(), Begun: begun}, nil
}

// Leave ends a call in TCP mode.
func (h *Handshake) Leave(u Use) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(u, -1)
}

// +checklocks:h.mu
func (h *Handshake) count(u Use, n int) {
	switch u {
	case Reading:
		h.reads += n
	case Writing:
		h.writes += n
	}
}

// BeginForListener begins the startup of a connection that was just accepted. The caller runs it in
// a goroutine.
func (h *Handshake) BeginForListener() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beginLocked(ownedByListener)
}

// beginLocked begins startup that no call of the program has asked for. If the phase is Plain
// afterwards, the peer cannot be a Responder.
//
// +checklocks:h.mu
func (h *Handshake) beginLocked(o owner) error {
	if h.sniffsLocked() {
		h.owner = o
		h.beginSniffLocked()
		return nil
	}
	if h.cfg.Err != nil {
		return h.cfg.Err
	}
	err := h.beginMPALocked(o)
	if h.cfg.Prefer && errors.Is(err, ErrUnread) {
		h.fallBackLocked(Fallback{Reason: NotMPA, Err: err})
		return nil
	}
	return err
}

// Begin begins MPA startup for a call of the program, which runs it.
func (h *Handshake) Begin() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beginMPALocked(ownedByCall)
}

// +checklocks:h.mu
func (h *Handshake) beginMPALocked(o owner) error {
	switch p := h.Phase(); {
	case p == Failed || p == Terminating:
		return h.err // it says more
	case h.isGivenUpLocked():
		return net.ErrClosed
	case p == DDP:
		return ErrSwitched
	case p.isUnderWay(), h.reads > 0, h.writes > 0:
		return ErrBusy
	}
	to := Requesting
	if h.cfg.Initiator {
		if n, first := h.unreadLocked(); n > 0 {
			return fmt.Errorf("%w: %d of them, which begin %q", ErrUnread, n, first)
		}
	} else {
		to = Receiving
		h.countHalfOpenLocked()
	}
	h.owner = o
	h.setPhase(to)
	return nil
}

// unreadLocked returns how many bytes are known to have arrived and are not read, and the first of
// them. No other goroutine reads.
//
// +checklocks:h.mu
func (h *Handshake) unreadLocked() (n int, first []byte) {
	waiting, _ := h.stream.Pending() // an error comes again
	n = len(h.ahead) + waiting
	if room := KeyLen - len(h.ahead); waiting > 0 && room > 0 {
		h.ahead = slices.Grow(h.ahead, room)
		m, _ := h.stream.Read(h.ahead[len(h.ahead):KeyLen][:min(waiting, room)]) // does not wait
		h.ahead = h.ahead[:len(h.ahead)+m]
	}
	h.isAhead.Store(len(h.ahead) > 0 || h.aheadErr != nil)
	return n, h.ahead
}

// Switched enters DDP mode: a driver has the stream. If err is not nil, the driver has it only for
// the Terminate that tells the peer of err. Switched reports whether the connection was closed
// meanwhile.
func (h *Handshake) Switched(err error) (closed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.owner != ownedByCall {
		h.err = err
		h.setPhase(Terminating)
	} else {
		h.setPhase(DDP)
	}
	h.endLocked(err)
	return h.IsClosed()
}

// NotSwitched ends MPA startup because of err. After a rejection, and only then, the connection can
// be used on in TCP mode. It reports whether the caller must close the stream.
func (h *Handshake) NotSwitched(err error, rejected bool) (mustClose bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resetDeadlinesLocked()
	mustClose = !rejected || h.IsClosed()
	if rejected && h.owner == ownedByCall {
		h.setPhase(Plain)
	} else {
		h.failLocked(err)
	}
	if mustClose {
		h.abandonLocked()
	}
	h.endLocked(err)
	return mustClose
}

// failLocked enters the phase Failed. Later calls get err if no call has had it, and net.ErrClosed
// otherwise.
//
// +checklocks:h.mu
func (h *Handshake) failLocked(err error) {
	h.setPhase(Failed)
	h.err = err
	if h.owner == ownedByCall || h.IsClosed() {
		h.err = net.ErrClosed
	}
}

// endLocked ends MPA startup, and lets the waiting calls go on.
//
// +checklocks:h.mu
func (h *Handshake) endLocked(err error) {
	h.half.leave()
	h.half, h.request, h.owner, h.until = nil, nil, ownedByCall, time.Time{}
	if errors.Is(err, context.DeadlineExceeded) {
		handshakeTimeouts.Add(1)
	}
	closeOver(h.over)
	h.over = nil
}

// overLocked returns the channel that is closed when the present part of startup ends. Most
// connections never need one.
//
// +checklocks:h.mu
func (h *Handshake) overLocked() chan struct{} {
	if h.over == nil {
		h.over = make(chan struct{})
	}
	return h.over
}

// closeOver lets the calls go on that wait for the end of a part of startup, if there are any.
func closeOver(over chan struct{}) {
	if over != nil {
		close(over)
	}
}

// Joined notes that a new connection is in DDP mode, because an RDMA device has done startup.
func (h *Handshake) Joined() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setPhase(DDP)
}

// Fail ends a connection in TCP mode because of err. It reports whether the caller must close the
// stream.
func (h *Handshake) Fail(err error) (mustClose bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.IsClosed() {
		return false
	}
	h.setPhase(Failed)
	h.err = err
	h.abandonLocked()
	return true
}

// FallBack makes a new connection plain TCP.
func (h *Handshake) FallBack(f Fallback) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fallBackLocked(f)
}

// +checklocks:h.mu
func (h *Handshake) fallBackLocked(f Fallback) {
	h.setPhase(Plain)
	h.fallback = f
	fallbacks[f.Reason].Add(1)
}

// Fallback returns why the connection is plain TCP although it prefers DDP mode.
func (h *Handshake) Fallback() Fallback {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fallback
}

// Err returns why calls in DDP mode cannot go on: what startup failed with, or net.ErrClosed. It is
// nil while the connection is usable.
func (h *Handshake) Err() error {
	if h.Phase() == DDP && !h.IsClosed() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch p := h.Phase(); {
	case p == Failed || p == Terminating:
		return h.err
	case h.IsClosed():
		return net.ErrClosed
	}
	return nil
}

// IsPlain reports whether the connection is in TCP mode, and no bytes are read ahead.
func (h *Handshake) IsPlain() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Phase() == Plain && len(h.ahead) == 0
}
