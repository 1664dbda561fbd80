package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A sender is the way from posted Work Requests to FPDUs that TCP may take: the state of MPA and
// DDP, and the part of the present message that is still on its way. It is a value without a
// goroutine or a clock, and never waits. The holder of the transmit token owns it.
type sender struct {
	batch *mpa.Batch // lent while the token is held and there is output
	stage stage
	done  int // messages whose last byte is in the batch
	// refers says that the batch refers to the Region that ddp holds. Nothing waits meanwhile, and
	// locks nothing that is outside of the Region's lock.
	refers  bool
	crc     bool // FPDUs have a CRC
	mayPass bool // the batch may refer to parcels
	passes  bool // the payload of the present segment is in the last parcel
	parcels parcels
	mpa     mpa.Sender
	ddp     ddp.Sender

	// The parts that it takes from.
	qp    *rdmap.QP
	count *counters.Counters
}

// A stage says what of the messages that the queue pair has given out is still on its way to TCP.
//
//	             begin, and after the source of a message is gone
//	idle ◀────────────────────────────▶ begun      a message is begun, or not
//	 │ ▲                                 │ ▲
//	fill, written                     fill, written
//	 ▼ │                                 ▼ │
//	whole                               part       TCP has not taken the batch
//
//	idle, begun, whole, part ──abandon──▶ idle     the end of the way out
//
// As long as the stage is begun or part, ddp refers to the memory of a message. So the way out
// abandons the message before the queue pair ends it.
type stage uint8

const (
	stageIdle  stage = iota // every message is whole, and TCP has all FPDUs
	stageBegun              // a part of the present message is not yet in the batch
	stageWhole              // the batch has FPDUs that TCP has not taken; they end with a message
	stagePart               // the batch has such FPDUs, and a part of the present message is not yet in it
)

var stageNames = [...]string{"idle", "begun", "whole", "part"}

func (s stage) String() string { return stageNames[s] }

// From every stage, abandon leads to stageIdle.
var stageNext = states.Table[stage]{
	stageIdle:  states.To(stageBegun, stageWhole),
	stageBegun: states.To(stageIdle, stagePart),
	stageWhole: states.To(stageIdle),
	stagePart:  states.To(stageBegun),
}

// isMiddle reports whether a part of the present message is not yet in the batch, and isUnsent
// whether the batch has FPDUs that TCP has not taken.
func (s stage) isMiddle() bool { return s == stageBegun || s == stagePart }
func (s stage) isUnsent() bool { return s >= stageWhole }

// setStage changes the stage. Only abandon also does.
func (w *sender) setStage(next stage) { stageNext.Become(&w.stage, next) }

// abandon gives up what TCP has not taken, because the way out ends. After that nothing refers to
// the memory of a message, and the queue pair may end all of them.
func (w *sender) abandon() {
	if w.batch != nil {
		w.batch.Reset()
	}
	w.ddp.Release()
	w.ddp, w.refers = ddp.Sender{Far: w.ddp.Far}, false
	w.parcels.release()
	w.stage, w.done = stageIdle, 0
}

// hasOutput reports whether there is something for cut.
func (w *sender) hasOutput() bool { return w.stage.isMiddle() || w.qp.HasOutput() }

// cut cuts messages into segments of at most mulpdu octets, and makes FPDUs of the segments, until
// the batch is full or nothing is left to send. It reports whether the batch holds anything. With
// snapshots, the batch holds copies of the payload. A Read Response whose Region is gone ends the
// queue pair. If the batch refers to the Region of a Read Response afterwards, the caller gives it
// to TCP at once, and then calls settle.
func (w *sender) cut(mulpdu int, snapshots bool) bool {
	w.mayPass = !snapshots && !w.batch.Apart
	for !w.batch.Full() && !w.parcels.areEnough() && (w.stage.isMiddle() || w.start()) {
		if w.refers && w.batch.Spare() < mulpdu {
			break
		}
		w.passes = false
		if !w.ddp.Next(mulpdu) { // the Region of a Read Response is gone
			if w.refers { // the queue pair must not be locked now; the next call comes here again
				break
			}
			w.setStage(stageIdle)
			w.qp.Fail(w.ddp.Err())
			continue
		}
		s := w.ddp.Segment()
		refer := !snapshots && w.refersTo(s)
		copied := !refer && !w.passes && (s.Snapshot || snapshots)
		w.mpa.Append(w.batch, copied, s.Header, s.Payload...) // header copied, payload referenced
		w.refers = w.refers || refer
		w.count.Add(counters.Sent+counters.FPDUs, 1)
		last := s.Last
		if last {
			w.setStage(stageIdle)
			w.done++
		}
		if !w.refers {
			w.ddp.Release()
		} else if last {
			break
		}
	}
	if w.batch.Len() == 0 {
		return false
	}
	w.count.Set(counters.Sent+counters.Octets, w.mpa.Off())
	if w.stage.isMiddle() {
		w.setStage(stagePart)
	} else {
		w.setStage(stageWhole)
	}
	return true
}

// referFrom is the minimum length in bytes of a Read Response whose payload goes to TCP from the
// Region. The batch then ends with the message. With shorter ones, TCP got so little at a time that
// Reads of 64 KiB had half of their rate (bbr).
const referFrom = 256 << 10

// refersTo reports whether the batch may refer to the payload of s, which is memory of a Region.
// The peer, or the program, may change it before TCP has copied it. A CRC would not match then.
// Without CRC the peer gets bytes from before or from after the change, as with a copy.
func (w *sender) refersTo(s *ddp.Segment) bool {
	if !s.Snapshot || w.crc || w.qp.Message().Len < referFrom || len(s.Payload) != 1 {
		return false
	}
	n := len(s.Payload[0])
	return n <= w.batch.Spare() && w.mpa.Refers(w.batch, n) && w.ddp.Keep()
}

// settle is called as soon as TCP has taken what it takes of the batch. After that the batch refers
// to no Region: it holds a copy of the rest.
func (w *sender) settle() {
	if w.refers {
		w.batch.Detach()
		w.ddp.Release()
		w.refers = false
	}
}

// start begins the next message, and reports whether there is one.
func (w *sender) start() bool {
	if !w.qp.NextMessage() {
		return false
	}
	w.begun()
	return true
}

// begun begins the message that the queue pair has given out.
func (w *sender) begun() {
	w.ddp.Start(w.qp.Message())
	w.count.Message(counters.Sent, w.qp.Message().RsvdULP)
	w.setStage(stageBegun)
}

// emptied empties the batch, all of which TCP has taken.
func (w *sender) emptied() {
	w.batch.Reset()
	w.parcels.release()
	if w.stage.isMiddle() {
		w.setStage(stageBegun)
	} else {
		w.setStage(stageIdle)
	}
}

// sent completes the Work Requests whose last byte TCP has taken.
func (w *sender) sent() {
	done := w.done
	w.done = 0
	w.qp.Sent(done)
}

// detach copies the payload that has been given out, so that nothing refers to data any more. id
// and data are the ID and the payload of the Work Request; another one may have the same ID, or the
// same payload. If its message has begun, and the rest is too long to copy, detach reports false.
func (w *sender) detach(data []byte, id uint64) bool {
	if w.stage.isUnsent() {
		w.batch.Detach()
	}
	return !w.stage.isMiddle() || w.ddp.Detach(maxDetached) || w.qp.Message().ID != id || !begins(w.qp.Message().Payload, data)
}

// begins reports whether payload begins with the memory of data.
func begins(payload [][]byte, data []byte) bool {
	return len(payload) > 0 && len(payload[0]) > 0 && len(data) > 0 && &payload[0][0] == &data[0]
}

// maxDetached is the maximum number of bytes that detach copies of a message that has begun.
const maxDetached = 4 << 20
