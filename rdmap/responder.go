package rdmap

import (
	"bytes"
	"errors"

	"github.com/rddp/rddp/ddp"
)

// A responder answers the peer's Read and Atomic Requests, strictly one after the other. It reads
// memory for a request, or performs the request, only when the answer is the next message. A
// responder is a ring in which
//
//	[oldest, next)  are answered by messages that TCP may not have accepted in full
//	[next, tail)    wait; they are at most as many as the IRD
//
// It is not a ring.Ring, because an answer must keep its place: a message that is on its way refers
// to it, and NextMessage fills it in without a lock.
type responder struct {
	slots  []response // made when the first request arrives
	limit  uint64     // IRD
	oldest uint64
	next   uint64
	tail   uint64
	queue  *ddp.Queue // one buffer for each request that may arrive
}

// A response is the answer to one request.
type response struct {
	isAtomic   bool
	read       ReadRequest
	atomic     AtomicRequest
	region     *ddp.Region // the Region to read or change; nil for a Read of length 0
	header     [ddp.UntaggedHeaderLen]byte
	segmentLen int // with header, the request's segment, for a Terminate
	scratch    [AtomicResponseLen]byte
	payload    [1][]byte // scratch
}

// start makes room for ird requests in queue, on which they arrive. "The Data Source MUST ensure
// that a sufficient number of Untagged Buffers are available on the RDMA Read Request Queue" (RFC
// 5040 §5.2.2). Reads and atomics share the limit. If the peer sends one request too many, that
// request finds no buffer.
func (r *responder) start(queue *ddp.Queue, ird int, extensions bool) {
	n := ReadRequestLen
	if extensions {
		n = AtomicRequestLen
	}
	r.limit = uint64(ird)
	r.queue = queue
	queue.Init(ird, n)
}

func (r *responder) at(pos uint64) *response { return &r.slots[pos%uint64(len(r.slots))] }

func (r *responder) push(a *response) {
	if r.slots == nil {
		r.slots = make([]response, 2*r.limit)
	}
	*r.at(r.tail) = *a
	r.tail++
}

// ready reports whether an answer can be given out. The number of answers that TCP has not
// confirmed is limited, so that their slots are not reused too early.
func (r *responder) ready() bool { return r.next < r.tail && r.next-r.oldest < r.limit }

// owes reports whether TCP has not taken all answers.
func (r *responder) owes() bool { return r.oldest != r.tail }

// isEmpty reports whether no answer is left to be given out.
func (r *responder) isEmpty() bool { return r.next == r.tail }

// give takes the next answer. The buffer of its request is available from now on, because the peer
// may send the next request once it has the answer. That may be before this end knows that TCP has
// the whole answer.
func (r *responder) give() *response {
	a := r.at(r.next)
	r.next++
	mustPost(r.queue, nil, nil, 0)
	return a
}

// giveBack notes that TCP has taken the oldest answer given out.
func (r *responder) giveBack() {
	*r.at(r.oldest) = response{}
	r.oldest++
}

// inProgress returns the answer given out last, or nil if TCP has taken all answers.
func (r *responder) inProgress() *response {
	if r.oldest == r.next {
		return nil
	}
	return r.at(r.next - 1)
}

// drop removes the answers that wait, and posts the buffers of their requests.
func (r *responder) drop() {
	for ; r.tail > r.next; r.tail-- {
		*r.at(r.tail - 1) = response{}
		mustPost(r.queue, nil, nil, 0)
	}
}

// takeBack removes the answer given out last, whose message has not begun. No answer may wait
// behind it.
func (r *responder) takeBack() {
	r.next--
	r.tail--
	*r.at(r.next) = response{}
}

// message fills in m with the answer to the peer of s, and performs an atomic request. The error is
// a *streamError.
func (a *response) message(m *ddp.Message, s *ddp.Stream) error {
	if !a.isAtomic {
		// The Data Sink STag "MUST be copied, without interpretation, from the RDMA Read Request
		// into the corresponding RDMA Read Response" (RFC 5040 §4.4). So must its TO.
		*m = ddp.Message{
			Tagged: true, RsvdULP: Control(OpReadResponse), STag: a.read.SinkSTag, TO: a.read.SinkTO,
			Len: a.read.Size, Source: a.region, SourceTO: a.read.SourceTO, SourceStream: s,
		}
		return nil
	}
	orig, err := s.Update64(a.region, int(a.atomic.TO-a.region.TO()), a.apply)
	if err != nil {
		return a.error(err)
	}
	a.payload[0] = AtomicResponse{ID: a.atomic.ID, Original: orig}.AppendTo(a.scratch[:0])
	*m = ddp.Message{
		RsvdULP: Control(OpAtomicResponse), QN: ddp.QNAtomicResponse, Payload: a.payload[:], Len: AtomicResponseLen,
	}
	return nil
}

// error returns the *streamError for a Terminate about the request. err is the error of the memory
// that the request names.
func (a *response) error(err error) *streamError {
	e := &streamError{Header: bytes.Clone(a.header[:]), SegmentLen: a.segmentLen, Err: err}
	var access *ddp.AccessError
	switch {
	case errors.As(err, &access):
		e.Code = accessCode(access)
		if !a.isAtomic {
			e.ReadRequest = after(a.read, a.answered(access)).AppendTo(nil)
		}
	case errors.Is(err, ddp.ErrMisaligned):
		// "Catastrophic error, localized to RDMAP Stream" (RFC 7306 §8.2)
		e.Code = codeCatastrophic
	default:
		e.Code = codeUnspecified
	}
	return e
}

// after returns the request that remains after n bytes have been answered. "the RDMA Read Request
// Header is updated to reflect the current location of the RDMA Read operation that is in process"
// (RFC 5040 §4.8)
func after(r ReadRequest, n uint32) ReadRequest {
	r.SinkTO += uint64(n)
	r.SourceTO += uint64(n)
	r.Size -= n
	return r
}

// answered returns how many bytes of a Read had been cut into segments when its source failed.
func (a *response) answered(err *ddp.AccessError) uint32 {
	if n := err.TO - a.read.SourceTO; n <= uint64(a.read.Size) {
		return uint32(n)
	}
	return 0
}

// accessCode returns the code of the remote protection error (RFC 5040 figure 9) for e.
func accessCode(e *ddp.AccessError) TerminateCode {
	switch {
	case e.Denied:
		return codeAccess
	case e.Code == ddp.CodeNotAssociated:
		return codeNotAssociated
	case e.Code == ddp.CodeTOWrap:
		return codeWrap
	case e.Code == ddp.CodeBounds:
		return codeBounds
	}
	return codeInvalidSTag
}

// parse reads and checks a request that DDP has delivered to q. The error is a *streamError.
func (a *response) parse(op Opcode, m *ddp.Message, q *QP) (err error) {
	*a = response{isAtomic: op == OpAtomicRequest}
	copy(a.header[:], m.Header[:m.HeaderLen])
	a.segmentLen = m.SegmentLen
	var rest []byte
	if a.isAtomic {
		a.atomic, rest, err = ParseAtomicRequest(m.Buffer)
	} else {
		a.read, rest, err = ParseReadRequest(m.Buffer)
	}
	switch {
	case err != nil:
		return headerError(err)
	case len(rest) > 0:
		return operationError(codeUnspecified, "%v of %d bytes", op, len(m.Buffer))
	case a.isAtomic:
		a.region, err = q.cfg.check(a.atomic.STag, a.atomic.TO, 8, ddp.RemoteAtomic)
		if err == nil {
			// "a ULP Buffer address that is 64-bit aligned" (RFC 7306 §8.2): Update64 checks this.
			_, err = q.stream.Update64(a.region, int(a.atomic.TO-a.region.TO()), func(v uint64) uint64 { return v })
		}
	case a.read.Size > 0:
		// With size zero it "MUST NOT validate the Data Source STag and Data Source Tagged Offset
		// contained in the RDMA Read Request Header" (RFC 5040 §5.2.1).
		a.region, err = q.cfg.check(a.read.SourceSTag, a.read.SourceTO, uint64(a.read.Size), ddp.RemoteRead)
	}
	if err != nil {
		return a.error(err)
	}
	return nil
}

// check returns the Region that a request of the peer names, if the peer has the right to it.
func (c *Config) check(s ddp.STag, to, n uint64, need ddp.Access) (*ddp.Region, error) {
	if c.Denied&need != 0 {
		return nil, &ddp.AccessError{Code: ddp.CodeInvalidSTag, Denied: true, STag: s, TO: to, N: n, Need: need, Stream: c.QPNum}
	}
	return c.Domain.Check(s, to, n, need, c.QPNum)
}
