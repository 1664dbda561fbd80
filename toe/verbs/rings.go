package verbs

import (
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// The queues of the driver rxe are rings.
type (
	sendRing    struct{ *ring.Ring }
	receiveRing struct{ *ring.Ring }

	completionRing struct {
		*ring.Ring
		entry []byte
	}
)

func (r sendRing) Put(w *uverbs.SendWR, list []uverbs.SGE) bool {
	return r.Ring.Put(func(b []byte) { w.Put(b, list) })
}

func (r receiveRing) Put(id uint64, list []uverbs.SGE) bool {
	return r.Ring.Put(func(b []byte) { uverbs.PutRecvWR(b, id, list) })
}

func (r completionRing) Take() (w uverbs.WC, ok bool, err error) {
	if !r.Ring.Take(r.entry) {
		return w, false, nil
	}
	w, err = uverbs.ParseWC(r.entry)
	return w, err == nil, err
}

func newCompletionRing(r *ring.Ring) completionRing {
	return completionRing{r, make([]byte, r.EntryLen())}
}

func openRing(m mapper, mapping []byte, n, entryLen uint32) (*ring.Ring, error) {
	at, err := uverbs.ParseMapping(mapping)
	if err != nil {
		return nil, &DeviceError{"queue", err}
	}
	b, err := m(at)
	if err != nil {
		return nil, err
	}
	r, err := ring.Open(b, n, entryLen)
	if err != nil {
		return nil, &DeviceError{"queue", err}
	}
	return r, nil
}

func openRingCQ(m mapper, answer []byte, n depths) (completionQueue, error) {
	r, err := openRing(m, answer, n.sends+n.receives, uverbs.CQElementLen)
	if err != nil {
		return nil, err
	}
	return newCompletionRing(r), nil
}

func openRingQP(m mapper, answer []byte, n depths) (sendQueue, receiveQueue, error) {
	receive, err := openRing(m, answer, n.receives, uverbs.RecvElementLen(n.segments))
	if err != nil {
		return nil, nil, err
	}
	send, err := openRing(m, answer[uverbs.MappingLen:], n.sends, uverbs.SendElementLen(n.segments, 0))
	if err != nil {
		return nil, nil, err
	}
	return sendRing{send}, receiveRing{receive}, nil
}
