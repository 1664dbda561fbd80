package driver

import (
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A streamReceiver is the way in, from the stream to messages: the receiver, and the state that
// concerns the stream. The goroutine with the receive role owns it, and only that goroutine calls
// its methods.
type streamReceiver struct {
	receiver
	free []byte // the part of the buffer to read to; nil while the connection holds no buffer
	loan loan   // the loan of that buffer
	// parked holds the beginning of an FPDU, in place of a whole buffer, while no bytes arrive. It
	// is nil otherwise.
	parked   *bufpool.Chunk
	parcel   toe.Parcel // whose memory is the buffer; nil if the buffer is a loan
	patience patience
	result   readResult             // what the Read that held the role has got, once its wait is over
	markers  bool                   // the peer sends Markers
	late     bool                   // the alarm has called home, and home has not read since then
	waited   bool                   // home found nothing in the stream, and waited
	leaves   bool                   // home has not left the role for the first time: see Driver.leaves
	awaited  *rdmap.CompletionQueue // of the call that receives: its answer will be in there

	seen     uint64 // stream offset up to which the Config's Tap has seen the bytes
	recorded uint64 // stream offset up to which the bytes are in the capture
	err      error  // why the intake is over

	// The parts that it reads from and reports to, except those of receiver.
	stream  toe.Stream
	quieter quieter     // of stream; nil: none
	poller  poller      // of stream; nil: none
	domain  *ddp.Domain // of the queue pair
	role    *role
	taps    *observe.Taps  // nil: none
	trace   *observe.Trace // nil: none
}

// filled passes n bytes to MPA that the stream has read to free. They begin at off in the stream.
func (r *streamReceiver) filled(off uint64, n int) {
	r.captureRun(off, r.free[:n])
	r.mpa.Fill(off, n)
	r.countArrived(off, off+uint64(n))
	r.captureArrived(false)
}

// step takes what has arrived as far as possible without waiting. It reports whether the stream is
// still sound.
func (r *streamReceiver) step(reader bool) (sound bool) {
	if reader {
		r.in.hold()
	}
	sound = r.place()
	r.release()
	r.countBuffered()
	if r.oneSided {
		r.oneSided = false
		r.role.oneSided()
	}
	if r.concerns != concernsNobody {
		r.setQuiet(r.concerns == concernsPeer && !r.callsProgram())
		r.concerns = concernsNobody
	}
	return sound
}

// setQuiet tells the stream whether what it reads concerns the peer alone.
func (r *streamReceiver) setQuiet(quiet bool) {
	if r.quieter != nil {
		r.quieter.SetQuiet(quiet)
	}
}

// callsProgram reports whether the answer to a request of the peer may call code of the program: a
// Tap, or memory of ddp.Domain.RegisterMemory.
func (r *streamReceiver) callsProgram() bool { return r.taps.On() || r.domain.HasMemory() }

// release releases the inbox if a Read holds its lock.
func (r *streamReceiver) release() {
	if r.in != nil && r.in.held {
		r.result = r.in.release()
	}
}

// readSegment waits until bytes have arrived and reads them. While it waits, the connection holds
// no buffer, unless the buffer contains much of an FPDU that has only begun.
//
// For a call it only polls. n is then 0 without an error if nothing has arrived.
func (r *streamReceiver) readSegment(who recipient) (n int, off uint64, err error) {
	switch who {
	case forHome:
		n, off, err = r.stream.ReadSegment(r, 0)
	case forRead:
		n, off, err = r.stream.ReadSegment(r, r.patience.begin(r.role.lastWait()))
	case forCall:
		n, off, err = r.poller.PollSegment(r, r.patience.beginCall())
	}
	if r.late {
		if r.late = false; !r.waited {
			r.role.missed()
		}
	}
	r.patience.end(n > 0)
	if bulk := n >= bulkFrom; bulk != r.patience.bulk {
		r.patience.bulk = bulk
		r.role.bulk.Store(bulk)
	}
	return n, off, err
}

var _ toe.Lender = (*streamReceiver)(nil)

// Lend returns the free part of the receive buffer, which the stream reads to. It borrows a buffer
// first if the connection holds none.
func (r *streamReceiver) Lend() []byte {
	if r.free == nil {
		b := r.loan.get()
		r.mpa.SetBuffer(b) // copies the parked bytes to b
		r.unpark()
	}
	r.free = r.mpa.Free()
	return r.free
}

// unpark returns the memory of the bytes that were parked.
func (r *streamReceiver) unpark() {
	if r.parked != nil {
		r.parked.Put()
		r.parked = nil
	}
}

var _ toe.Borrower = (*streamReceiver)(nil)

// Borrow makes the memory of p the receive buffer. The beginning of an FPDU, which has arrived
// before, is copied to the place in front of the bytes of p.
func (r *streamReceiver) Borrow(p toe.Parcel) bool {
	rest, _ := r.mpa.Arrived()
	b, at := p.Memory()
	if r.intake.isHeld() || len(rest) > at || len(b)-at+len(rest) < mpa.MinBuffer {
		return false
	}
	if before := r.mpa.SetBuffer(b[at-len(rest):]); r.free != nil {
		r.putBuffer(before)
	}
	r.unpark()
	r.parcel = p
	r.free = r.mpa.Free()
	return true
}

// putBuffer returns a receive buffer that the connection has held.
func (r *streamReceiver) putBuffer(b []byte) {
	if r.parcel != nil {
		r.parcel.Release()
		r.parcel = nil
		return
	}
	r.loan.put(b)
}

// TakeBack returns the buffer to the pool before the stream waits. It reports whether the
// connection keeps the buffer because the buffer contains much of an FPDU.
func (r *streamReceiver) TakeBack() (kept bool) {
	r.waited = true
	r.giveBack()
	r.park()
	r.patience.end(false)
	return r.free != nil
}

// parkedMost is the maximum length in bytes of an incomplete FPDU that the driver copies to a
// smaller buffer and back. The two copies prevent a peer that stops in the middle of an FPDU from
// holding a whole buffer.
const parkedMost = 16 << 10

// park returns the buffer to the pool when giveBack has not done so and the buffer contains little
// of an FPDU.
func (r *streamReceiver) park() {
	if r.free == nil || r.intake.isHeld() {
		return
	}
	if b, _ := r.mpa.Arrived(); len(b) <= parkedMost {
		r.parked = bufpool.GetChunk(len(b))
		r.putBuffer(r.mpa.SetBuffer(r.parked.B))
		r.free = nil
	}
}

// giveBack returns the buffer to the pool, unless the buffer contains an incomplete FPDU, or an
// FPDU that waits for memory or for a Read.
func (r *streamReceiver) giveBack() {
	if r.free == nil || r.intake.isHeld() || r.parked != nil || r.mpa.HasRest() {
		return
	}
	if b := r.mpa.SetBuffer(nil); b != nil {
		r.putBuffer(b)
		r.free = nil
	}
}

// drop gives up the buffer, with the part of an FPDU in it, at the end of the way in. The garbage
// collector frees the buffer: after a panic something may still refer to it.
func (r *streamReceiver) drop() {
	r.mpa.Drop()
	r.mpa.Destination, r.ddp = nil, ddp.Receiver{} // they refer to the memory of incomplete messages
	r.free, r.parked, r.parcel = nil, nil, nil
	r.loan.end()
}

// countArrived counts the bytes of the stream from off to end, which have arrived, unless there is
// a gap before them. The bytes of an early run arrive again.
func (r *streamReceiver) countArrived(off, end uint64) {
	before := r.count.Load(counters.Received + counters.Octets)
	if off <= before && end > before {
		r.count.Set(counters.Received+counters.Octets, end)
	}
	if off > before {
		r.waiting = int(end - off)
	}
}

// countBuffered counts the bytes of an early run that were not placed. They wait in TCP until the
// gap closes.
func (r *streamReceiver) countBuffered() {
	if r.waiting > 0 {
		r.count.Add(counters.Buffered, uint64(r.waiting))
		r.waiting = 0
	}
}

// ends reports whether a Read that has the role must give it up.
func (r *streamReceiver) ends(interrupted bool) bool {
	return interrupted || r.intake.isHeld() || r.result.over || r.in.has()
}

// endsCall reports whether a call that receives is over: it has its answer, or only home can go on.
func (r *streamReceiver) endsCall() bool { return r.awaited.Len() > 0 || r.intake.isHeld() }

// needsHome reports whether the home goroutine must go on at once when a Read leaves the role: only
// it may wait for memory and carry out the end, and what stays in the receive buffer for the next
// Read must not hold up what has arrived behind it.
func (r *streamReceiver) needsHome() bool {
	switch {
	case r.intake.isHomes():
		return true
	case !r.intake.isHeld() || r.role.isTrusted():
		return false
	}
	_, behind := r.mpa.Arrived()
	return behind > 0
}

// An earlyShower is a Stream that can stop showing early runs. The method is not part of
// toe.Stream: if a wrapper hides it, the Stream shows runs that are not used, and nothing else is
// lost.
type earlyShower interface{ ShowEarly(show bool) }

// A poller is a Stream that can be polled: see toe.Stream.ReadSegment. If a wrapper hides the
// method, calls sleep, and nothing else is lost.
type poller interface {
	PollSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error)
}

// A quieter is a Stream that wants to know whether what it reads concerns the program: see
// toe.Stream.ReadSegment. If a wrapper hides the method, the Stream does a little more, and nothing
// is lost.
type quieter interface{ SetQuiet(quiet bool) }

// captureRun shows bytes that were read to the Tap of the Config. Bytes that were shown early
// arrive a second time, and captureRun skips them then.
func (r *streamReceiver) captureRun(off uint64, run []byte) {
	if r.taps != nil && off == r.seen {
		r.seen += uint64(len(run))
		r.taps.Read(run)
	}
}

// captureArrived records the FPDUs that the last Fill has completed. A capture may have begun in
// the middle of an FPDU. At the end of the connection, captureArrived also records the last FPDU if
// only a part of it has arrived.
func (r *streamReceiver) captureArrived(end bool) {
	f := r.taps.Recording()
	if f == nil {
		return
	}
	b, n := r.mpa.Arrived()
	if end {
		n = len(b)
	}
	// After a fault, the buffer may still contain FPDUs that are recorded already.
	from := max(r.recorded, r.mpa.Edge())
	if skip := int(from - r.mpa.Edge()); skip < n {
		f.ReceivedFPDUs(b[skip:n], from, r.markers)
		r.recorded = from + uint64(n-skip)
	}
}
