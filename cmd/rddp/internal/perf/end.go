package perf

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// An end is one end of a data connection. Both processes use the same code: in each run, one end is
// active and the other passive. Only one goroutine at a time may use an end.
type end struct {
	net.Conn               // plain TCP, or the extended socket
	ddp      *extsock.Conn // nil over plain TCP
	ring     []byte        // the data; successive operations use successive places; see makeRing
	ringLen  int           // its length
	peer     rdmap.Handle  // the peer's ring, over verbs
	depth    int           // capacity of the send queue
	reads    bool          // use reads the data
	sum      uint64        // of the data that use has read
	timeout  time.Duration // bounds a run
	times    *recorder     // the latencies, at the active end
	patient  bool          // the passive end waits for a run without a deadline

	done []rdmap.Completion  // for polling
	wrs  []rdmap.WorkRequest // for PostBatch
	word [1]byte
	head []byte
}

// newEnd makes an end of a TCP connection whose hello has been answered. If an extended socket
// takes over the connection, newEnd passes it to k.
func newEnd(ctx context.Context, c net.Conn, h *hello, initiator bool, k *closer) (*end, error) {
	if h.Transport == overTCP {
		return openedEnd(c, h, initiator, true)
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	x := extsock.NewConn(c, initiator, h.config())
	k.set(x)
	if err := x.EnableDDP(ctx, nil); err != nil {
		return nil, err
	}
	return openedEnd(x, h, initiator, true)
}

// openedEnd makes an end of a connection that is already in the mode that h specifies. If ringed is
// not set, the end makes its ring for its first run, unless the peer needs access to the ring.
func openedEnd(c net.Conn, h *hello, initiator, ringed bool) (*end, error) {
	e := &end{Conn: c, ringLen: h.Ring, depth: h.Depth, reads: h.ReadData, timeout: h.Timeout}
	if ringed || h.Transport == overVerbs {
		e.makeRing()
	}
	if h.Transport == overTCP {
		return e, nil
	}
	e.ddp = c.(*extsock.Conn)
	if s := e.ddp.ConnectionState(); s.CRC != h.CRC || s.ByteStream != (h.Transport == overStream) {
		return nil, fmt.Errorf("%w: DDP mode with CRC %v, byte stream %v", ErrProtocol, s.CRC, s.ByteStream)
	}
	if h.Transport == overVerbs {
		return e, e.exchange(initiator)
	}
	return e, nil
}

// config returns the configuration of the extended sockets of both ends.
func (h *hello) config() *extsock.Config {
	cfg := &extsock.Config{NoCRC: !h.CRC, SendDepth: h.Depth + 1, PollTime: h.PollTime}
	if h.ReadData {
		cfg.SendDepth += h.Depth // each Write is followed by a Send
	}
	if h.Transport == overVerbs {
		cfg.Messages, cfg.RecvSize = true, max(h.RecvSize, headLen)
	}
	return cfg
}

// makeRing makes the ring, if there is none.
func (e *end) makeRing() {
	if e.ring == nil {
		e.ring = make([]byte, e.ringLen)
		touch(e.ring)
	}
}

// touch makes the kernel allocate the pages of p now.
func touch(p []byte) {
	for i := 0; i < len(p); i += 4096 {
		p[i] = byte(i >> 12)
	}
}

// exchange gives the peer access to the ring, and gets access to the peer's.
func (e *end) exchange(first bool) error {
	r, err := e.ddp.Register(e.ring, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	e.SetDeadline(time.Now().Add(e.timeout))
	own, theirs := r.Handle().AppendTo(nil), make([]byte, rdmap.HandleLen)
	if first {
		_, err = e.Write(own)
	}
	if err == nil {
		_, err = io.ReadFull(e, theirs)
	}
	if err == nil && !first {
		_, err = e.Write(own)
	}
	if err != nil {
		return noEOF(err)
	}
	if e.peer, _, err = rdmap.ParseHandle(theirs); err != nil {
		return err
	}
	if int(e.peer.Len) != len(e.ring) {
		return fmt.Errorf("%w: a ring of %d bytes instead of %d", ErrProtocol, e.peer.Len, len(e.ring))
	}
	return nil
}

// check returns an error if this end cannot take part in the run.
func (e *end) check(h head) error {
	if h.size > e.ringLen || h.depth > e.depth || h.kind.posts() && e.peer.Len == 0 || h.kind == kindAtomic && h.size != atomicSize {
		return fmt.Errorf("%w: %+v", ErrProtocol, h)
	}
	return nil
}

// The active end sends done after its last operation. The passive end sends seen when it has
// received everything before that. If the server is the active end, it then sends over when its
// latencies are recorded. After each Write whose data the passive end reads, the active end sends
// written.
const (
	signDone    = 'd'
	signSeen    = 's'
	signOver    = 'o'
	signWritten = 'w'
)

var written = []byte{signWritten}

// runActive runs the active end's part of a run. It returns when the passive end has received
// everything.
func (e *end) runActive(ctx context.Context, h head) error {
	var err error
	switch h.kind {
	case kindBulk:
		err = e.writeAll(h)
	case kindEcho:
		err = e.ping(h)
	default:
		err = e.post(ctx, h)
	}
	if err != nil {
		return err
	}
	if err := e.sign(signDone); err != nil {
		return err
	}
	return e.await(signSeen)
}

// runPassive runs the passive end's part of a run.
func (e *end) runPassive(h head) error {
	var err error
	switch h.kind {
	case kindBulk:
		err = e.readBulk(h)
	case kindSend:
		err = e.readMessages(h)
	case kindEcho:
		err = e.pong(h)
	case kindWrite:
		err = e.readWritten(h)
	}
	if err != nil {
		return err
	}
	if err := e.await(signDone); err != nil {
		return err
	}
	return e.sign(signSeen)
}

func (e *end) sign(s byte) error {
	e.word[0] = s
	_, err := e.Write(e.word[:])
	return err
}

func (e *end) await(s byte) error {
	if _, err := io.ReadFull(e, e.word[:]); err != nil {
		return noEOF(err)
	}
	if e.word[0] != s {
		return fmt.Errorf("%w: %q instead of %q", ErrProtocol, e.word[0], s)
	}
	return nil
}

// place returns the place in the ring for the next operation, and the offset after it.
func (e *end) place(at, size int) (p []byte, next int) {
	if at+size > len(e.ring) {
		at = 0
	}
	return e.ring[at : at+size], at + size
}

func (e *end) writeAll(h head) error {
	for at := 0; h.count > 0; h.count-- {
		var p []byte
		p, at = e.place(at, h.size)
		if _, err := e.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// bulkRead is the minimum number of bytes that the passive end of a bulk run asks for in a Read.
// The data has no boundaries, so one Read returns many short Writes, as in any efficient program.
const bulkRead = 64 << 10

func (e *end) readBulk(h head) error {
	for at, rest := 0, int64(h.count)*int64(h.size); rest > 0; {
		if at == len(e.ring) || at+h.size > len(e.ring) && h.size > bulkRead {
			at = 0
		}
		most := int(min(int64(max(h.size, bulkRead)), rest))
		n, err := e.Read(e.ring[at:min(at+most, len(e.ring))])
		if err != nil {
			return noEOF(err)
		}
		e.use(e.ring[at : at+n])
		at, rest = at+n, rest-int64(n)
	}
	return nil
}

// readMessages reads messages to successive places.
func (e *end) readMessages(h head) error {
	for at := 0; h.count > 0; h.count-- {
		var p []byte
		p, at = e.place(at, h.size)
		if _, err := io.ReadFull(e, p); err != nil {
			return noEOF(err)
		}
		e.use(p)
	}
	return nil
}

// readWritten reads the data of RDMA Writes. A Send after each Write says that the data has
// arrived.
func (e *end) readWritten(h head) error {
	if !e.reads {
		return nil
	}
	for at := 0; h.count > 0; h.count-- {
		var p []byte
		p, at = e.place(at, h.size)
		if err := e.await(signWritten); err != nil {
			return err
		}
		e.use(p)
	}
	return nil
}

// use reads received data, if ReadData is set, as fast as a loop in Go can.
func (e *end) use(p []byte) {
	if !e.reads {
		return
	}
	for ; len(p) >= 32; p = p[32:] {
		e.sum += binary.LittleEndian.Uint64(p) ^ binary.LittleEndian.Uint64(p[8:])
		e.sum += binary.LittleEndian.Uint64(p[16:]) ^ binary.LittleEndian.Uint64(p[24:])
	}
}

// rest pauses, if the run has pauses, and returns the time when the next operation begins; begin is
// the end of the one before it.
func (h *head) rest(begin time.Time) time.Time {
	if h.pause == 0 {
		return begin
	}
	time.Sleep(h.pause)
	return time.Now()
}

func (e *end) ping(h head) error {
	p := e.ring[:h.size]
	for begin := time.Now(); h.count > 0; h.count-- {
		begin = h.rest(begin)
		if _, err := e.Write(p); err != nil {
			return err
		}
		if _, err := io.ReadFull(e, p); err != nil {
			return noEOF(err)
		}
		now := time.Now()
		e.times.record(now.Sub(begin))
		begin = now
	}
	return nil
}

func (e *end) pong(h head) error {
	p := e.ring[:h.size]
	for ; h.count > 0; h.count-- {
		if _, err := io.ReadFull(e, p); err != nil {
			return noEOF(err)
		}
		if _, err := e.Write(p); err != nil {
			return err
		}
	}
	return nil
}
