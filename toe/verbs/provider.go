package verbs

import (
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/siw"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A provider describes the differences between the drivers that this package supports: the layout
// of queues in memory, the data that the driver adds to commands, and how strict its completions
// are.
type provider struct {
	driver uint32 // the kernel's number
	// Bytes that the driver adds to answers, and to the input of REG_MR.
	contextOut, regionOut, cqOut, qpOut int
	regionIn                            int
	segments                            int  // maximum per work request; 0 means the device's limit
	plain                               bool // neither atomics nor Immediate Data
	// overtakes means that completions of other work requests may come before those of Reads that
	// were posted earlier.
	overtakes bool
	// flushTime is how long completions may still come after the command that makes the device
	// flush outstanding work requests.
	flushTime time.Duration

	openCQ func(mapper, []byte, depths) (completionQueue, error)
	openQP func(mapper, []byte, depths) (sendQueue, receiveQueue, error)
}

// depths are the minimum capacities of the queues of a connection.
type depths struct{ sends, receives, segments uint32 }

// exceeds reports whether the limits of a device are lower.
func (n depths) exceeds(d *uverbs.Device, segments int) bool {
	return max(n.sends, n.receives) > d.MaxQPWR || n.segments > d.MaxSGE || segments > 0 && n.segments > uint32(segments)
}

// A mapper maps a queue.
type mapper func(uverbs.Mapping) ([]byte, error)

// A sendQueue is shared with the device. Put returns false if the device has not yet made room.
type sendQueue interface {
	Put(w *uverbs.SendWR, list []uverbs.SGE) bool
}

// A receiveQueue is shared with the device, as a sendQueue is.
type receiveQueue interface {
	Put(id uint64, list []uverbs.SGE) bool
}

// A completionQueue is shared with the device. Take returns false if it is empty, and an error if
// the entry is not valid.
type completionQueue interface {
	Take() (w uverbs.WC, ok bool, err error)
}

// An armer is a completionQueue that the program arms by writing to its memory. Others are armed by
// REQ_NOTIFY_CQ.
type armer interface{ Arm() }

// providers are tried in this order.
var providers = []*provider{
	{
		driver: uverbs.DriverRXE, cqOut: uverbs.MappingLen, qpOut: 2 * uverbs.MappingLen,
		flushTime: 5 * time.Second, openCQ: openRingCQ, openQP: openRingQP,
	},
	{
		driver:     uverbs.DriverSIW,
		contextOut: siw.ContextLen, regionIn: siw.RegionInLen, regionOut: siw.RegionLen, cqOut: siw.CQLen, qpOut: siw.QPLen,
		flushTime: 0, // it flushes within the command; work requests not flushed then, such as some Reads, never are
		segments:  siw.MaxSegments, plain: true, overtakes: true, openCQ: openSiwCQ, openQP: openSiwQP,
	},
}

func openSiwCQ(m mapper, answer []byte, n depths) (completionQueue, error) {
	e, err := siw.ParseCQ(answer, n.sends+n.receives)
	if err != nil {
		return nil, &DeviceError{"queue", err}
	}
	b, err := m(e.Mapping)
	if err != nil {
		return nil, err
	}
	return e.OpenCompletions(b)
}

func openSiwQP(m mapper, answer []byte, n depths) (sendQueue, receiveQueue, error) {
	send, receive, err := siw.ParseQP(answer, n.sends, n.receives)
	if err != nil {
		return nil, nil, &DeviceError{"queue", err}
	}
	b, err := m(receive.Mapping)
	if err != nil {
		return nil, nil, err
	}
	r, err := receive.OpenReceive(b)
	if err != nil {
		return nil, nil, &DeviceError{"queue", err}
	}
	if b, err = m(send.Mapping); err != nil {
		return nil, nil, err
	}
	s, err := send.OpenSend(b)
	if err != nil {
		return nil, nil, &DeviceError{"queue", err}
	}
	return s, r, nil
}

// A call is a command of uverbs, with room for its answers.
type call struct {
	driver         uint32
	cmd            uverbs.Command
	in, driverIn   []byte
	out, driverOut []byte
}
