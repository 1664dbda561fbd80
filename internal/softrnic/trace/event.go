package trace

import "time"

// A Kind says what an Event is about, and which fields it has besides At, PID and TID.
type Kind uint8

const (
	// Command is a verb or a call of rdma_cm, which has taken Dur: Op is its name, Text has the
	// arguments, and Status the result.
	Command Kind = iota
	// Process is a process that has opened the device: Text is its name.
	Process
	// Rang is the doorbell of a queue pair: the program has posted N work requests that have not
	// been taken, after the first Seq ones.
	Rang
	// Post is work request number Seq of a queue pair, which the device has taken from its queue:
	// Op, ID (wr_id), N bytes, and for one-sided operations Addr and Key. Text has its flags.
	Post
	// Done is the end of a work request, and of those in front of it that have not ended: Seq,
	// Status. Seen says that a completion follows.
	Done
	// Forgotten is the end of all work requests of a queue pair that have not completed: Text says
	// why. The next event may be about another queue pair with the same number, whose work requests
	// are numbered from 0.
	Forgotten
	// Take is a receive that is about to be filled: ID.
	Take
	// Filled is the end of that receive: ID, N bytes, Status.
	Filled
	// Completion is a completion that the device puts into completion queue Queue: Op, ID, N bytes,
	// Status.
	Completion
	// Out and In are a message to the peer of a queue pair, and from it: Op, N bytes, Addr and Key.
	// Flow is the same number at both ends, and 0 if it is not known. Text says more.
	Out
	In
	// Note is anything else: Op says what, and Text says more.
	Note
	// Lost says that N events are missing here.
	Lost
)

// An Event is something that has happened. Its strings must not be changed.
type Event struct {
	At   time.Time // Put sets it if it is zero
	Dur  time.Duration
	Kind Kind
	// Seen says that Addr and Key are valid: see also Done.
	Seen     bool
	PID, TID int
	// QP is the number of a queue pair, Queue the handle of a completion queue. 0 means none.
	QP, Queue uint32
	ID, Seq   uint64
	Addr      uint64
	Flow      uint64
	Key, N    uint32
	Op        string
	Status    string
	Text      string
}
