package bytestream

import (
	"encoding/binary"

	"github.com/rddp/rddp/rdmap"
)

// A Receiver is the state of the way in: what the peer may send next, and the reader's side of the
// rendezvous. A Receiver has no lock: one goroutine at a time uses it.
type Receiver struct {
	credits int          // messages that the peer may send, not counting what GaveBack has not noted yet
	eof     bool         // the end of the stream has come
	granted bool         // grant is open: neither done nor cancel has come for it
	grant   rdmap.Handle // memory that the peer may write to
	placed  uint64       // bytes from the first one on that RDMA Writes have brought
	refused bool         // the last offer was refused: a cancel may cross the refusal
	over    bool         // a cancel has come, so the peer makes no offer any more
}

// NewReceiver returns the Receiver of a stream whose peer begins with these credits.
func NewReceiver(credits int) *Receiver { return &Receiver{credits: credits} }

// An Arrival is the meaning of a message of the peer.
type Arrival struct {
	Kind    Kind
	N       int          // bytes of data, of an offer, or placed
	End     bool         // no data comes after this message
	Credits int          // that the peer gives back
	Grant   rdmap.Handle // the peer's
	Buffer  Buffer       // what becomes of the credit that the message has used
}

// A Buffer says when the peer gets the credit of a message back.
type Buffer uint8

// The buffers.
const (
	// DataBuffer is the buffer of data, of an offer or of a done. When it is free again, the driver
	// asks the Window whether the credit goes back.
	DataBuffer Buffer = iota
	// ControlBuffer is the buffer of a grant or of a message with credits only. It is free at once,
	// and its credit is never kept back, because the peer may have no other credit for its next
	// message of that kind.
	ControlBuffer
	// ExtraBuffer is one of ExtraBuffers, which the peer uses once and without a credit.
	ExtraBuffer
)

// Arrived decodes a message that has been placed: its first HeaderLen bytes are in head and the
// others in body. A shorter message is all in head. The error, an ErrStream, says that the peer may
// not send that message now; the driver then ends the stream. Before Arrived, the driver calls
// GaveBack if OutOfCredits returns true.
//
// The driver acts on the Arrival:
//
//	Data   hands N bytes to the reader, and then the end of the stream if End is set
//	Offer  calls Answer with memory of a Read that waits for the next byte, from MinGrant to MaxGrant bytes and at most N,
//	       or with a Handle of no length
//	Grant  tells the Sender
//	Done   hands N bytes to the reader that lie in the memory granted, which the peer may use no longer
//	Cancel revokes the memory that was granted, if any was
//
// Credits and the buffer go to the Sender, with Credit and Freed.
func (r *Receiver) Arrived(head, body []byte) (Arrival, error) {
	h, _, err := ParseHeader(head)
	if err != nil {
		return Arrival{}, err
	}
	a := Arrival{Kind: h.Kind, N: len(body), End: h.FIN, Credits: int(h.Credits)}
	switch {
	case h.Kind != Data && len(body) != h.Kind.bodyLen():
		err = streamError("%v with %d bytes", h.Kind, len(body))
	case h.Kind == Data:
		err = r.data(&a)
	case h.Kind == Offer:
		a.N = length(body)
		err = r.offered(a.N)
	case h.Kind == Grant:
		a.Buffer = ControlBuffer
		a.Grant, _, err = rdmap.ParseHandle(body)
	case h.Kind == Done:
		a.N = length(body)
		err = r.done(a.N)
	case h.Kind == Cancel:
		a.Buffer = ExtraBuffer
		err = r.canceled()
	}
	if err == nil && a.Buffer != ExtraBuffer {
		err = r.useCredit(h.Kind)
	}
	return a, err
}

// useCredit takes the credit of a message of this kind.
func (r *Receiver) useCredit(k Kind) error {
	if r.credits <= 0 {
		return streamError("%v without a credit", k)
	}
	r.credits--
	return nil
}

// OutOfCredits reports whether the peer has used all credits that the Receiver knows of. The next
// message is then a fault, unless the Sender has given credits back meanwhile.
func (r *Receiver) OutOfCredits() bool { return r.credits <= 0 }

// GaveBack notes that the peer has been given n credits more: what Sender.GivenBack has returned.
func (r *Receiver) GaveBack(n int) { r.credits += n }

// data checks a message with data, with the end of the stream, or with credits alone.
func (r *Receiver) data(a *Arrival) error {
	switch {
	case a.N > 0 && r.eof: // a grant may well come behind the end, and credits
		return streamError("%d bytes after the end", a.N)
	case a.End && r.eof:
		return streamError("its end twice")
	case a.N > 0 && r.granted: // credits may come there, and a grant for an offer of ours
		return streamError("%d bytes of data inside an offer", a.N)
	case a.End && r.granted:
		return streamError("its end inside an offer")
	case a.N == 0 && a.End:
		a.Buffer = ExtraBuffer
	case a.N == 0:
		a.Buffer = ControlBuffer
	}
	r.eof = r.eof || a.End
	return nil
}

func (r *Receiver) offered(n int) error {
	if r.granted || r.eof || r.over || n == 0 {
		return streamError("offer of %d bytes", n)
	}
	return nil
}

// Answer notes how the offer that has just arrived is answered: with memory, or with a refusal if h
// has no length.
func (r *Receiver) Answer(h rdmap.Handle) {
	r.grant, r.granted, r.placed = h, h.Len > 0, 0
	r.refused = !r.granted
}

// Placed notes that an RDMA Write of the peer has been placed at h without a gap. The peer fills
// the granted memory from its first byte on.
func (r *Receiver) Placed(h rdmap.Handle) {
	if r.granted && h.STag == r.grant.STag && h.TO == r.grant.TO+r.placed {
		r.placed += uint64(h.Len)
	}
}

// done checks that n bytes have been placed. What the peer says is not enough: in place of bytes
// that it has left out, Read would return what was in the reader's memory before.
func (r *Receiver) done(n int) error {
	if !r.granted || n == 0 || uint64(n) > r.placed {
		return streamError("%d bytes placed by rendezvous", n)
	}
	r.granted = false
	return nil
}

// canceled notes that the peer does not use its offer.
func (r *Receiver) canceled() error {
	if !r.granted && !r.refused {
		return streamError("cancel without an offer")
	}
	r.granted, r.refused, r.over = false, false, true
	return nil
}

// length returns the Length that b consists of. It is at most the largest int, which has 32 bits on
// some machines.
func length(b []byte) int { return int(min(binary.BigEndian.Uint32(b), 1<<31-1)) }
