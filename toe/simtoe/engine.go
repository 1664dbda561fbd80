package simtoe

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/fpdu"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// An EngineConfig describes an Engine and the faults that it has to order. The zero value is an
// engine that offloads nothing.
type EngineConfig struct {
	// Offload is the most that the engine can do.
	Offload toe.Offload
	// NoResources makes Engage fail: the engine has no room for the connection.
	NoResources bool
	// FailAt is the step at which the engine stops, counted from 1 over both directions. Zero means
	// never. A step is an FPDU that the engine begins, has verified, or has had placed, or a write
	// of a part of an FPDU to TCP.
	FailAt int
	// Exhausted makes the engine stop for want of resources at FailAt, and not because of a failure.
	Exhausted bool
	// Disorder makes the engine have the FPDUs of one run placed in a random order, which follows
	// from Seed.
	Disorder bool
	Seed     uint64
}

// An Engine is a Stream whose offload engine does as much of the work of MPA and DDP as its
// EngineConfig says. It is the reference for real engines: its result follows from the calls alone,
// and it can be stopped at each step. It is not fast: it copies everything.
type Engine struct {
	toe.Stream // the TCP below

	cfg     EngineConfig
	engaged toe.Engagement
	steps   atomic.Int64
	stopped atomic.Pointer[toe.EngineError] // why the engine has stopped; nil if it has not

	out engineOut // belongs to the writer
	in  engineIn  // belongs to the reader
}

// NewEngine returns a Stream with an engine above s, which must be a new connection.
func NewEngine(s toe.Stream, cfg EngineConfig) *Engine { return &Engine{Stream: s, cfg: cfg} }

// Steps returns the number of steps that the engine has made.
func (e *Engine) Steps() int { return int(e.steps.Load()) }

// Capabilities returns those of the TCP below, and what the engine offloads. Nobody can watch an
// Engine: what it has read and not shown is not in the TCP below.
func (e *Engine) Capabilities() toe.Capabilities {
	c := e.Stream.Capabilities()
	c.Offload, c.Watch = e.cfg.Offload, toe.WatchNone
	return c
}

// Watch returns false.
func (e *Engine) Watch(*toe.Gate) bool { return false }

// Unwatch does nothing.
func (e *Engine) Unwatch() {}

// The causes of an EngineError.
var (
	errFailed     = errors.New("simtoe: the engine was told to fail")
	errNoRoom     = errors.New("simtoe: the engine was told to have no room")
	errDisengaged = errors.New("simtoe: disengaged")
	errUnverified = errors.New("simtoe: an FPDU can't be verified")
	errCut        = errors.New("simtoe: the stream ends within an FPDU")
)

// Engage engages the engine.
func (e *Engine) Engage(g toe.Engagement) error {
	switch {
	case g.Offload == toe.OffloadNone || g.Offload > e.cfg.Offload:
		return errors.ErrUnsupported
	case e.cfg.NoResources:
		return &toe.EngineError{NoResources: true, Err: errNoRoom}
	}
	e.engaged = g
	a := mpa.Agreement{CRC: g.CRC, TxMarkers: g.TxMarkers, RxMarkers: g.RxMarkers}
	e.out = engineOut{mpa: fpdu.NewSender(a), batch: fpdu.NewBatch(fpdu.MinBuffer), busy: true}
	e.in = engineIn{
		mpa: fpdu.NewReceiver(a), busy: true,
		read: make([]byte, fpdu.MinBuffer), random: rand.New(rand.NewPCG(e.cfg.Seed, 0)),
	}
	e.in.mpa.SetBuffer(make([]byte, 4*fpdu.MinBuffer))
	return nil
}

// Disengage stops the engine.
func (e *Engine) Disengage() { e.stop(&toe.EngineError{Err: errDisengaged}) }

// stop stops the engine, unless it has stopped before, and returns why it has stopped.
func (e *Engine) stop(why *toe.EngineError) *toe.EngineError {
	e.stopped.CompareAndSwap(nil, why)
	return e.stopped.Load()
}

// step makes a step, and reports whether the engine still works.
func (e *Engine) step() bool {
	if e.stopped.Load() == nil && int(e.steps.Add(1)) == e.cfg.FailAt {
		why := &toe.EngineError{Err: errFailed}
		if e.cfg.Exhausted {
			why = &toe.EngineError{NoResources: true, Err: errNoRoom}
		}
		e.stop(why)
	}
	return e.stopped.Load() == nil
}

// An engineOut makes whole FPDUs of those that are to be sent, one after the other.
type engineOut struct {
	busy  bool // engaged, and the writer does not know of a stop
	mpa   *fpdu.Sender
	batch *fpdu.Batch

	// The FPDU under way, if length is not 0:
	fpdu   []byte // what TCP has not taken
	length int    // in the stack's form
	taken  int    // of length

	end uint64 // stream offset after the FPDU under way, or after the last one
}

// TryWriteBatch finishes the FPDUs in bufs and gives them to TCP.
func (e *Engine) TryWriteBatch(bufs [][]byte) (n int, err error) {
	o := &e.out
	if !o.busy {
		return e.Stream.TryWriteBatch(bufs)
	}
	v := vector{bufs: bufs}
	for {
		if !e.step() {
			o.busy = false
			why := *e.stopped.Load()
			why.Taken = o.end - uint64(len(o.fpdu))
			return n, &why
		}
		if o.length == 0 && !o.next(&v, e.engaged) {
			return n, nil
		}
		m, err := e.Stream.TryWriteBatch([][]byte{o.fpdu})
		o.fpdu = o.fpdu[m:]
		taken := min(o.taken+m, o.length-1) // the last byte stands for all that comes behind it
		if len(o.fpdu) == 0 {
			taken = o.length
		}
		v.skip(taken - o.taken)
		n += taken - o.taken
		o.taken = taken
		if err != nil || len(o.fpdu) > 0 {
			return n, err
		}
		o.length, o.taken = 0, 0
	}
}

// next begins the FPDU at the front of v. It reports false if there is none.
func (o *engineOut) next(v *vector, g toe.Engagement) bool {
	if g.Offload == toe.OffloadCRC {
		return o.nextUnsummed(v, g)
	}
	length, ok := v.peek(2)
	if !ok {
		return false
	}
	o.length = 2 + int(binary.BigEndian.Uint16(length))
	form, _ := v.peek(o.length)
	o.batch.Reset()
	o.mpa.Append(o.batch, true, form[2:])
	o.fpdu, o.end = o.batch.Bufs()[0], o.mpa.Off()
	return true
}

// nextUnsummed is next for FPDUs that lack only their CRC.
func (o *engineOut) nextUnsummed(v *vector, g toe.Engagement) bool {
	lead := 0
	if g.TxMarkers && o.end%512 == 0 {
		lead = 4 // a Marker
	}
	head, ok := v.peek(lead + 2)
	if !ok {
		return false
	}
	o.length = fpdu.Len(o.end, int(binary.BigEndian.Uint16(head[lead:])), g.TxMarkers)
	o.fpdu, _ = v.peek(o.length)
	o.end += uint64(o.length)
	if body := o.length - 4; g.CRC {
		binary.LittleEndian.PutUint32(o.fpdu[body:], crc32.Checksum(o.fpdu[:body], castagnoli))
	}
	return true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A vector is the part of some buffers that has not been taken.
type vector struct{ bufs [][]byte }

// peek returns a copy of the next n bytes. It reports false if there are fewer.
func (v *vector) peek(n int) (p []byte, ok bool) {
	for _, b := range v.bufs {
		p = append(p, b[:min(len(b), n-len(p))]...)
	}
	return p, len(p) == n
}

// skip advances by n bytes. It changes no buffer.
func (v *vector) skip(n int) {
	for n > 0 {
		if m := len(v.bufs[0]); n >= m {
			n -= m
			v.bufs = v.bufs[1:]
			continue
		}
		v.bufs = append([][]byte{v.bufs[0][n:]}, v.bufs[1:]...)
		return
	}
}

// An engineIn verifies the FPDUs that arrive, has them placed, and shows the others.
type engineIn struct {
	busy   bool // engaged, and the reader does not know of a stop
	mpa    *fpdu.Receiver
	read   []byte // where TCP's bytes are read to
	random *rand.Rand

	queue  []arrived // verified FPDUs in order that have not been shown
	off    uint64    // stream offset of the first byte that has been neither shown nor placed
	raw    []byte    // TCP's bytes from off on, as far as they have been read in order
	placed bool      // something was placed since the last ReadSegment
}

// An arrived is an FPDU that has arrived. Its ULPDU is nil if it was placed.
type arrived struct {
	off   uint64
	size  int
	ulpdu []byte
}

// ReadSegment shows the FPDUs that arrive and that the Placer refuses.
func (e *Engine) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	in := &e.in
	if !in.busy {
		return in.readRaw(e.Stream, l, patience)
	}
	for {
		if n, off := e.show(l); n > 0 || in.placed {
			in.placed = false
			return n, off, nil
		}
		if why := e.stopped.Load(); why != nil {
			in.busy = false
			return 0, in.off, why
		}
		n, off, err := e.Stream.ReadSegment(&engineLender{l, in.read}, patience)
		switch {
		case err == io.EOF && len(in.raw) > 0:
			e.stop(&toe.EngineError{Err: errCut})
		case err != nil:
			return 0, in.off, err
		default:
			e.take(off, in.read[:n])
		}
	}
}

// readRaw is ReadSegment after the engine has stopped, and before it is engaged.
func (in *engineIn) readRaw(s toe.Stream, l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	if len(in.raw) == 0 {
		return s.ReadSegment(l, patience)
	}
	off = in.off
	n = copy(l.Lend(), in.raw)
	in.raw = in.raw[n:]
	in.off += uint64(n)
	return n, off, nil
}

// take takes the run that begins at off apart. It stops the engine if the run can't be verified.
func (e *Engine) take(off uint64, run []byte) {
	in := &e.in
	if off == in.off+uint64(len(in.raw)) {
		in.raw = append(in.raw, run...)
	}
	in.mpa.Fill(off, copy(in.mpa.Free(), run))
	first := len(in.queue)
	for in.mpa.Next() {
		u := in.mpa.ULPDU()
		a := arrived{off: u.Off, size: u.Size, ulpdu: append([]byte(nil), u.Data...)}
		switch {
		case !u.Early:
			in.queue = append(in.queue, a)
		case !e.place(&a):
			in.mpa.Unread()
		}
	}
	e.placeAll(in.queue[first:])
	if in.mpa.Err() != nil {
		e.stop(&toe.EngineError{Err: errUnverified})
	}
}

// placeAll has all of list placed, as far as possible.
func (e *Engine) placeAll(list []arrived) {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	if e.cfg.Disorder {
		order = e.in.random.Perm(len(list))
	}
	for _, i := range order {
		e.place(&list[i])
	}
}

// place has a placed, if that is the engine's part, and reports whether it was.
func (e *Engine) place(a *arrived) bool {
	if !e.step() || e.engaged.Offload < toe.OffloadPlacement || !e.engaged.Placer.PlaceULPDU(a.off, a.size, a.ulpdu) {
		return false
	}
	a.ulpdu, e.in.placed = nil, true
	e.step()
	return true
}

// show moves FPDUs from the queue to the memory that l lends, as long as there is room. If the
// engine stops, the rest of the queue arrives again.
func (e *Engine) show(l toe.Lender) (n int, off uint64) {
	in := &e.in
	var p []byte
	for len(in.queue) > 0 && e.stopped.Load() == nil {
		a := &in.queue[0]
		if a.ulpdu != nil {
			if p == nil {
				p, off = l.Lend(), a.off
			}
			b := in.formed(a, e.engaged.Offload)
			if n+len(b) > len(p) {
				break
			}
			n += copy(p[n:], b)
		}
		in.queue = in.queue[1:]
		in.advance(a.off + uint64(a.size))
	}
	if len(in.queue) == 0 {
		in.advance(in.mpa.Edge()) // past those that were placed before their turn
	}
	return n, off
}

// advance passes what lies below stream offset off.
func (in *engineIn) advance(off uint64) {
	in.raw = in.raw[off-in.off:]
	in.off = off
}

// formed returns a in the form in which the stack gets it.
func (in *engineIn) formed(a *arrived, o toe.Offload) []byte {
	if o == toe.OffloadCRC {
		return in.raw[a.off-in.off:][:a.size]
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(a.ulpdu))), a.ulpdu...)
}

// An engineLender lends the engine's memory to TCP. While TCP waits, the stack has its own back.
type engineLender struct {
	stack toe.Lender
	p     []byte
}

func (l *engineLender) Lend() []byte { return l.p }

func (l *engineLender) TakeBack() bool {
	l.stack.TakeBack()
	return true
}
