package startup

import "github.com/rddp/rddp/internal/states"

// A Phase is how far a connection has come with its startup.
//
//	            ┌──────────────► Requesting ─────────────────────────────────┐
//	            │                                                            │
//	Undecided ──┼─► Sniffing ──► Recognized ──► Receiving ► Asked ► Answering┼─► DDP
//	            │      ├─────────────────────────►▲                          ├─► Terminating
//	            ├──────┼─────────────────────────►┘                          │
//	            ▼      ▼                                                     │
//	           Plain ◄───────────────────────────────────────── a rejection ─┤
//	             └──► Requesting or Receiving                                └─► Failed
//
// A connection whose RDMA device has done MPA startup goes from Undecided to DDP (see Joined). A
// peer's Request is Recognized if the program must call ReceiveRequest; otherwise startup goes on
// by itself. Sniffing, Requesting, Receiving and Answering may end in Failed, and so may Plain.
// Being closed is not a phase: see Handshake.closed.
type Phase uint8

const (
	// Undecided means that nothing has begun. The first use of the connection begins startup.
	Undecided Phase = iota
	// Plain is TCP mode: every byte is the program's.
	Plain
	// Sniffing means that the accepting end looks at the first bytes, which belong to an MPA
	// Request or to the program.
	Sniffing
	// Recognized means that the first bytes begin an MPA Request, which the program has not asked
	// for yet.
	Recognized
	// Requesting means that the Initiator sends its Request and waits for the Reply.
	Requesting
	// Receiving means that the Responder waits for the Request.
	Receiving
	// Asked means that the Request waits for its answer.
	Asked
	// Answering means that the Responder sends its Reply.
	Answering
	// DDP is DDP mode: the driver has the stream.
	DDP
	// Terminating is DDP mode too, but only for the one FPDU that tells the peer why startup has
	// failed (RFC 6581 §8). Every call of the program fails with that error.
	Terminating
	// Failed means that the connection cannot be used any more. Handshake.err says why.
	Failed
)

var phaseNames = [...]string{
	"Undecided", "Plain", "Sniffing", "Recognized", "Requesting", "Receiving", "Asked", "Answering", "DDP", "Terminating", "Failed",
}

func (p Phase) String() string { return phaseNames[p] }

var phaseNext = states.Table[Phase]{
	Undecided:  states.To(Plain, Sniffing, Requesting, Receiving, DDP),
	Plain:      states.To(Requesting, Receiving, Failed),
	Sniffing:   states.To(Plain, Recognized, Receiving, Failed),
	Recognized: states.To(Receiving),
	Requesting: states.To(DDP, Terminating, Plain, Failed),
	Receiving:  states.To(Asked, Failed),
	Asked:      states.To(Answering),
	Answering:  states.To(DDP, Plain, Failed),
	DDP:        0, Terminating: 0, Failed: 0,
}

// setPhase changes the phase. Nothing else does.
//
// +checklocks:h.mu
func (h *Handshake) setPhase(to Phase) { h.phase.Become(to, phaseNext) }

// Phase returns the present phase.
func (h *Handshake) Phase() Phase { return h.phase.Load() }

// IsWaited reports whether a Read would wait for startup, which is under way or has yet to begin.
func (h *Handshake) IsWaited() bool {
	p := h.Phase()
	return (p.isUnderWay() || p == Undecided || p == Recognized) && !h.IsClosed()
}

// isUnderWay reports whether a goroutine or a call runs startup, or the Request waits for its
// answer.
func (p Phase) isUnderWay() bool {
	switch p {
	case Sniffing, Requesting, Receiving, Asked, Answering:
		return true
	}
	return false
}
