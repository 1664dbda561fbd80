package softrnic

import (
	"fmt"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// Fields of a completion that have no meaning hold this.
const rubbish = 0xdbdbdbdb

var immediateRubbish = [4]byte{0xdb, 0xdb, 0xdb, 0xdb}

// rubbishLocked returns a completion as the program gets it. A program that is checked gets rubbish
// in the fields that have no meaning, so that it notices if it uses them, and one whose device
// takes that liberty gets it in those of a failed completion.
//
// +checklocks:q.mu
func (q *completionQueue) rubbishLocked(w *uverbs.WC) *uverbs.WC {
	faults := q.ctx.dev.faults
	if q.checked == nil {
		if w.Status == uverbs.Success || !faults.Takes(fault.Undefined) {
			return w
		}
		faults.Took(fault.Undefined)
	}
	return withRubbish(*w)
}

// withRubbish returns w with rubbish in the fields that have no meaning.
func withRubbish(w uverbs.WC) *uverbs.WC {
	switch {
	case w.Status != uverbs.Success:
		return &uverbs.WC{ID: w.ID, Status: w.Status, QPN: w.QPN, Op: rubbish, Len: rubbish, SrcQPN: rubbish, Immediate: immediateRubbish}
	case w.Op < uverbs.WCRecv && w.Op != uverbs.WCRead && w.Op != uverbs.WCCmpSwap && w.Op != uverbs.WCFetchAdd:
		w.Len = rubbish
	}
	if w.Flags&(uverbs.WCHasImm|uverbs.WCHasInval) == 0 {
		w.Immediate = immediateRubbish
	}
	return &w
}

// checkRubbish is the event that the program posts a work request. It may have its values from a
// completion, and its message may be longer than any.
func (q *queuePair) checkRubbish(s *sender) {
	f, w, k := s.flight, &s.wr, q.ctx.check
	field := ""
	if w.Flags&uverbs.Inline == 0 {
		for list := w.SGEs; field == ""; {
			x, rest, ok := uverbs.ParseSGE(list)
			if !ok {
				break
			}
			if list = rest; x.Len == rubbish {
				field = "length"
			}
		}
	}
	if (w.Op == uverbs.OpSendImm || w.Op == uverbs.OpWriteImm) && w.Immediate == immediateRubbish {
		field = "immediate data"
	}
	switch {
	case field != "":
		k.AddAt(inCall, f.checked.posted, check.PostsRubbish(q.String(), fmt.Sprintf("%#x", f.id), field, rubbish))
	case f.status == uverbs.LocalLengthErr:
		k.AddAt(inCall, f.checked.posted, check.PostsTooLong(q.String(), fmt.Sprintf("%#x", f.id), f.why))
	}
}
