package extsock

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// The words of memory and of the verbs. The layers define them, and their documentation is there. A
// program that uses connections need not import the layers, because these names mean the same.
type (
	// Access is a set of rights: what the peer may do to a Region.
	Access = ddp.Access
	// A Domain has Regions that several connections share. See Config.Domain.
	Domain = ddp.Domain
	// A Handle names a Region for the peer.
	Handle = rdmap.Handle

	// A WorkRequest is one operation of Conn.Post, and a RecvRequest one buffer of Conn.PostRecv.
	WorkRequest = rdmap.WorkRequest
	RecvRequest = rdmap.RecvRequest
	// A WorkOp is the operation of a WorkRequest.
	WorkOp = rdmap.WorkOp
	// A Completion is the result of a WorkRequest or RecvRequest, and a Status says how it ended.
	Completion = rdmap.Completion
	Status     = rdmap.Status
	// A SharedReceiveQueue has the receive buffers of several connections. See Config.SRQ.
	SharedReceiveQueue = rdmap.SharedReceiveQueue

	// A RejectError means that the peer's program has rejected the connection.
	RejectError = mpa.RejectError
	// A TerminateError means that one end has reported a fault to the other by a Terminate.
	TerminateError = rdmap.TerminateError
)

// The rights.
const (
	RemoteRead   = ddp.RemoteRead
	RemoteWrite  = ddp.RemoteWrite
	RemoteAtomic = ddp.RemoteAtomic
)

// The operations.
const (
	WorkSend           = rdmap.WorkSend
	WorkSendInvalidate = rdmap.WorkSendInvalidate
	WorkWrite          = rdmap.WorkWrite
	WorkRead           = rdmap.WorkRead
	WorkFetchAdd       = rdmap.WorkFetchAdd
	WorkCmpSwap        = rdmap.WorkCmpSwap
	WorkSwap           = rdmap.WorkSwap
	WorkImmediate      = rdmap.WorkImmediate
	WorkRecv           = rdmap.WorkRecv
)

// The statuses.
const (
	StatusOK              = rdmap.StatusOK
	StatusFlushed         = rdmap.StatusFlushed
	StatusLocalLength     = rdmap.StatusLocalLength
	StatusLocalProtection = rdmap.StatusLocalProtection
	StatusRemoteAccess    = rdmap.StatusRemoteAccess
	StatusRemoteOperation = rdmap.StatusRemoteOperation
	StatusGeneral         = rdmap.StatusGeneral
)

// The errors of Register and Post that a program can do something about.
var (
	ErrMisaligned          = ddp.ErrMisaligned
	ErrQueueFull           = rdmap.ErrQueueFull
	ErrCompletionQueueFull = rdmap.ErrCompletionQueueFull
	ErrNoExtensions        = rdmap.ErrNoExtensions
	ErrNoORD               = rdmap.ErrNoORD
	ErrBadRequest          = rdmap.ErrBadRequest
	ErrMessageTooLong      = rdmap.ErrMessageTooLong
)

// HandleLen is the length of an encoded Handle in bytes.
const HandleLen = rdmap.HandleLen

// ParseHandle parses the Handle at the front of b, and returns the rest of b.
func ParseHandle(b []byte) (h Handle, rest []byte, err error) { return rdmap.ParseHandle(b) }

// NewSharedReceiveQueue returns a SharedReceiveQueue with room for depth buffers.
func NewSharedReceiveQueue(depth int) *SharedReceiveQueue { return rdmap.NewSharedReceiveQueue(depth) }
