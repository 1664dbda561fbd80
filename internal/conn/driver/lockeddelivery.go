package driver

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// A lockedDelivery is where messages wait for Read. No buffer is posted in advance: the driver asks
// for a buffer when a message begins, so an idle connection holds none. If the message fits in the
// memory of the waiting Read, that memory is the buffer, and no goroutine copies the message again.
// Otherwise the buffer is memory of the pool.
//
// The depth bounds the number of messages. The peer of a byte stream knows the depth as its
// credits. TCP holds back the messages of every other peer.
//
// It guards a delivery, which has the rules, and wakes the goroutines that wait. Its methods in
// this file are for the goroutine with the receive role, with these exceptions: the program's calls
// use close, closeRead and has, and the goroutine that ends the connection uses end. The methods of
// a Read are in reader.go, and those that every message calls in receivedelivery.go.
type lockedDelivery struct {
	queued atomic.Bool // more than one Read has waited at a time
	held   bool        // a Read with the receive role holds mu; the receive role guards it
	words  bool        // ReceiveConfig.Words

	look   atomic.Uint32 // what other goroutines look at without the lock; see unlock
	window atomic.Int64  // a copy of memory.window.Now: the credits of a byte stream's peer

	mu locks.Mutex[locks.Inbox]
	// Only the goroutine with the receive role changes its placing and rest, so that goroutine may
	// look at them without mu.
	delivery delivery // +checklocks:mu
	// a Read waits until nothing is placed in its memory
	leaving bool      // +checklocks:mu
	placed  sync.Cond // of mu: that is so

	// ready makes the waiting Read look again: there may be something for the Read, the role may be
	// offered to it, its deadline may have passed, or the connection ends.
	ready wait.Cell
	turn  wait.Cell // a Read has returned, so the next Read may begin
}

// init makes the zero lockedDelivery that of a connection, which is empty.
//
// +checklocksignore: no other goroutine has it yet
func (in *lockedDelivery) init(cfg *ReceiveConfig) {
	b := &in.delivery
	b.depth, b.size, b.longest = cfg.Depth, cfg.Size, cfg.Longest
	b.memory.account = &b.memory.own
	in.placed.L, in.words = &in.mu, cfg.Words
	if cfg.Stream != nil {
		in.setWindow(cfg.Stream.Window)
	}
}

// The methods from here to end are the delivery's, with mu held.

// dropControl frees the buffer of a message that is not data. It returns for how many buffers the
// peer gets its credits back.
func (in *lockedDelivery) dropControl(b bytestream.Buffer) (back int) {
	in.enter()
	defer in.exit()
	in.delivery.drop()
	back = in.delivery.handBack(1, b)
	in.noteWindow()
	return back
}

func (in *lockedDelivery) drop() {
	in.enter()
	defer in.exit()
	in.delivery.drop()
}

// retreat looks at the placing without mu; see delivery.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) retreat() (body []byte) {
	if in.delivery.placing.state != placingLong {
		return nil
	}
	in.enter()
	defer in.exit()
	return in.delivery.retreat()
}

func (in *lockedDelivery) makeGrant(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
	in.enter()
	defer in.exit()
	return in.delivery.makeGrant(n, register)
}

func (in *lockedDelivery) useGrant(n int) {
	in.enter()
	defer in.exit()
	in.delivery.useGrant(n)
}

func (in *lockedDelivery) endGrant() {
	in.enter()
	defer in.exit()
	in.delivery.endGrant()
}

func (in *lockedDelivery) streamEnds() {
	in.enter()
	defer in.exit()
	in.delivery.streamEnds()
}

func (in *lockedDelivery) takeRest() (over, freed bool, back int) {
	in.enter()
	defer in.exit()
	over, freed, back = in.delivery.takeRest(in.held)
	in.noteWindow()
	return over, freed, back
}

// isShort reports whether the next message waits for memory.
func (in *lockedDelivery) isShort() bool {
	in.enter()
	defer in.exit()
	return in.delivery.delay == delayShort
}

// closeRead discards all data that arrives from now on.
func (in *lockedDelivery) closeRead() {
	in.mu.Lock()
	in.delivery.unread.Discard()
	in.unlock()
	in.notify()
}

func (in *lockedDelivery) close() (lost bool) {
	in.mu.Lock()
	defer in.unlock()
	in.ready.Wake()
	return in.delivery.close()
}

// end is end of the delivery. If the program drops the connection without Close, the garbage
// collector frees the unread messages, and then the budget gets their memory back too.
func (in *lockedDelivery) end() {
	in.mu.Lock()
	defer in.unlock()
	in.delivery.end()
	if m := &in.delivery.memory; *m.account != (account{}) {
		runtime.AddCleanup(in, (*account).clear, m.setApart())
	}
}

// setWindow makes the delivery that of a byte stream with window w.
func (in *lockedDelivery) setWindow(w Window) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.delivery.setWindow(w)
	in.noteWindow()
}

// noteWindow copies the window for goroutines that look without the lock.
//
// +checklocks:in.mu
func (in *lockedDelivery) noteWindow() {
	if w := &in.delivery.memory.window; w.IsOpen() {
		in.window.Store(int64(w.Now))
	}
}
