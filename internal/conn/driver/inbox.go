package driver

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// An inbox is where messages wait for Read. No buffer is posted in advance: the driver asks for a
// buffer when a message begins, so an idle connection holds none. If the message fits in the memory
// of the waiting Read, that memory is the buffer, and no goroutine copies the message again.
// Otherwise the buffer is memory of the pool.
//
// The depth bounds the number of messages. The peer of a byte stream knows the depth as its
// credits. TCP holds back the messages of every other peer.
//
// The rules are those of the box. The inbox guards it, and wakes those who wait. Its methods in
// this file are for the goroutine with the receive role, except three: the program's calls use
// close and closeRead, and the goroutine that ends the connection uses end. The methods of a Read
// are in reader.go.
type inbox struct {
	queued atomic.Bool // more than one Read has waited at a time
	held   bool        // a Read with the receive role holds mu; the receive role guards it
	words  bool        // ReceiveConfig.Words

	look   atomic.Uint32 // what other goroutines look at without the lock; see unlock
	window atomic.Int64  // a copy of memory.window.Now: the credits of a byte stream's peer

	mu locks.Mutex[locks.Inbox]
	// Of it, only the goroutine with the receive role changes framed, placing and rest, so that
	// goroutine may look at them without mu.
	box box // +checklocks:mu
	// a Read waits until nothing is placed in its memory
	leaving bool      // +checklocks:mu
	placed  sync.Cond // of mu: that is so

	ready chan struct{} // capacity 1: the waiting Read has something
	turn  chan struct{} // capacity 1: a Read has returned, so the next Read may begin
}

// newInbox returns an empty inbox.
//
// +checklocksignore: no other goroutine has it yet
func newInbox(depth, size int) *inbox {
	in := &inbox{box: box{depth: depth, size: size, memory: allowance{account: new(account)}}, ready: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	in.placed.L = &in.mu
	return in
}

// hold locks mu for all messages that one read of the stream has brought. It is for a Read that
// holds the receive role, because no other goroutine often needs mu then. If the home goroutine has
// the role, each method locks mu itself, so a Read can take messages meanwhile.
//
// +checklocksignore: release unlocks
func (in *inbox) hold() {
	in.mu.Lock()
	in.held = true
}

// release ends hold, if mu is held. If the inbox now has something for the Read, the wait of the
// Read ends, as by leave.
//
// +checklocksignore: hold has locked mu
func (in *inbox) release() (result readResult) {
	if !in.held {
		return readResult{}
	}
	in.held = false
	if in.box.has() {
		result = in.box.leave()
	}
	in.unlock()
	return result
}

// enter locks mu unless hold has locked it.
//
// +checklocksacquire:in.mu
// +checklocksignore: where it does not lock, hold has
func (in *inbox) enter() {
	if !in.held {
		in.mu.Lock()
	}
}

// exit ends enter.
//
// +checklocksrelease:in.mu
// +checklocksignore: where it does not unlock, release will
func (in *inbox) exit() {
	if !in.held {
		in.unlock()
	}
}

// The methods from here to end are those of the box.

func (in *inbox) bind(payload []byte, last bool) (head, body []byte, answer binding) {
	in.enter()
	defer in.exit()
	return in.box.bind(payload, last, in.held)
}

// received needs no lock.
//
// +checklocksignore: see box
func (in *inbox) received(c rdmap.Completion) (head, body []byte) { return in.box.received(c) }

// acceptMessage is accept in message mode. c is the Completion of the message.
func (in *inbox) acceptMessage(n int, c rdmap.Completion) {
	in.enter()
	defer in.exit()
	if in.box.placing.state == placingDirect || !in.box.discards() { // then a Read begins it
		*in.box.notes.Push() = noteOf(&c)
	}
	in.box.accept(n, bytestream.DataBuffer)
	in.noteWindow()
}

func (in *inbox) accept(n int, b bytestream.Buffer) (freed bool, back int) {
	in.enter()
	defer in.exit()
	freed, back = in.box.accept(n, b)
	in.noteWindow()
	return freed, back
}

// dropControl frees the buffer of a message that is not data. It returns for how many buffers the
// peer gets its credits back.
func (in *inbox) dropControl(b bytestream.Buffer) (back int) {
	in.enter()
	defer in.exit()
	in.box.drop()
	back = in.box.handBack(1, b)
	in.noteWindow()
	return back
}

// unbind returns the reader's memory when the message meant for it, of a single segment, has
// arrived but was not accepted because the stream had ended.
//
// +checklocksignore: see box
func (in *inbox) unbind() {
	if in.box.placing.holdsReader() {
		in.drop()
	}
}

func (in *inbox) drop() {
	in.enter()
	defer in.exit()
	in.box.drop()
}

func (in *inbox) lend(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
	in.enter()
	defer in.exit()
	return in.box.lend(n, register)
}

func (in *inbox) takeLent(n int) {
	in.enter()
	defer in.exit()
	in.box.takeLent(n)
}

func (in *inbox) endLent() {
	in.enter()
	defer in.exit()
	in.box.endLent()
}

func (in *inbox) streamEnds() {
	in.enter()
	defer in.exit()
	in.box.streamEnds()
}

func (in *inbox) takeRest() (over, freed bool, back int) {
	in.enter()
	defer in.exit()
	over, freed, back = in.box.takeRest(in.held)
	in.noteWindow()
	return over, freed, back
}

// hasRest reports whether the message that has just come stays in the receive buffer.
//
// +checklocksignore: see box
func (in *inbox) hasRest() bool { return len(in.box.rest) > 0 }

// isPlacing reports whether a message is being placed.
//
// +checklocksignore: see box
func (in *inbox) isPlacing() bool { return in.box.placing.state != placingNone }

// isShort reports whether the present message waits for memory.
func (in *inbox) isShort() bool {
	in.enter()
	defer in.exit()
	return in.box.delay == delayShort
}

// closeRead throws away all data that arrives from now on.
func (in *inbox) closeRead() {
	in.mu.Lock()
	in.box.discard()
	in.unlock()
	in.notify()
}

func (in *inbox) close() (lost bool) {
	in.mu.Lock()
	defer in.unlock()
	return in.box.close()
}

// end is end of the box. If the program drops the connection without Close, the collector frees
// what it has left unread, and then the budget gets that back too.
func (in *inbox) end() {
	in.mu.Lock()
	defer in.unlock()
	in.box.end()
	if a := in.box.memory.account; *a != (account{}) {
		runtime.AddCleanup(in, (*account).clear, a)
	}
}

// setWindow makes the inbox the inbox of a byte stream with window w.
func (in *inbox) setWindow(w Window) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.box.setWindow(w)
	in.noteWindow()
}

// noteWindow copies the window for goroutines that look without the lock.
//
// +checklocks:in.mu
func (in *inbox) noteWindow() {
	if w := &in.box.memory.window; w.IsOpen() {
		in.window.Store(int64(w.Now))
	}
}
