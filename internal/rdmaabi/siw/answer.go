package siw

import (
	"fmt"
	"unsafe"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// Lengths in bytes of the data that the driver adds to the answers of GET_CONTEXT, REG_MR,
// CREATE_CQ and CREATE_QP, and to the input of REG_MR.
const (
	ContextLen  = 8
	RegionLen   = 8
	CQLen       = 16
	QPLen       = 32
	RegionInLen = 8
)

// controlLen is the length in bytes of the field after the entries of a completion queue. It says
// which completions the program waits for, because the driver has no REQ_NOTIFY_CQ.
const controlLen = 8

// mostEntries is the maximum number of entries of a queue that the package accepts from the driver.
const mostEntries = 1 << 24

// An Extent is the place of a queue and the number of its entries.
type Extent struct {
	uverbs.Mapping
	n uint32
}

func extent(key uint64, n, want uint32, entryLen, more int) (Extent, error) {
	if n < want || n > mostEntries || key >= 1<<62 {
		return Extent{}, fmt.Errorf("siw: a queue of %d entries at %#x, for %d", n, key, want)
	}
	return Extent{uverbs.Mapping{Offset: key, Size: n*uint32(entryLen) + uint32(more)}, n}, nil
}

// ParseCQ parses the data that the driver adds to the answer of CREATE_CQ, for at least n entries.
func ParseCQ(b []byte, n uint32) (Extent, error) {
	if len(b) < CQLen {
		return Extent{}, uverbs.ErrShort
	}
	return extent(le.Uint64(b[8:]), le.Uint32(b[4:]), n, doneLen, controlLen)
}

// ParseQP parses the data that the driver adds to the answer of CREATE_QP, for at least the given
// numbers of entries.
func ParseQP(b []byte, sends, receives uint32) (send, receive Extent, err error) {
	if len(b) < QPLen {
		return send, receive, uverbs.ErrShort
	}
	if send, err = extent(le.Uint64(b[16:]), le.Uint32(b[4:]), sends, sendLen, 0); err != nil {
		return send, receive, err
	}
	receive, err = extent(le.Uint64(b[24:]), le.Uint32(b[8:]), receives, receiveLen, 0)
	return send, receive, err
}

// OpenSend returns the send queue in b, whose extent is e.
func (e Extent) OpenSend(b []byte) (*SendQueue, error) {
	q, err := open(b, e.n, sendLen)
	return &SendQueue{q}, err
}

// OpenReceive returns the receive queue in b, whose extent is e.
func (e Extent) OpenReceive(b []byte) (*ReceiveQueue, error) {
	q, err := open(b, e.n, receiveLen)
	return &ReceiveQueue{q}, err
}

// OpenCompletions returns the completion queue in b, whose extent is e.
func (e Extent) OpenCompletions(b []byte) (*CompletionQueue, error) {
	q, err := open(b, e.n, doneLen)
	end := int(e.n) * doneLen
	if err == nil && len(b) < end+controlLen {
		err = fmt.Errorf("siw: a completion queue of %d bytes in %d bytes of memory", end+controlLen, len(b))
	}
	if err != nil {
		return nil, err
	}
	return &CompletionQueue{q, (*uint32)(unsafe.Pointer(&b[end]))}, nil
}
