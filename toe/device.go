package toe

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// A Deviced is a Backend with an RDMA device beside its TCP. The device does TCP, MPA, DDP and RDMAP,
// or the protocol of a channel adapter. The stack uses the Backend's TCP for connections that cannot
// run on the device.
type Deviced interface {
	Backend
	// Device opens the device at the first call that can, and returns the same one from then on. The
	// error is an *[UnavailableError] if there is no device for this process.
	Device() (Device, error)
}

// A Device makes queue pairs that are connected. Its methods may be called from any goroutine.
//
// A device may lack what a connection needs, or refuse it. The error is then an *[UnavailableError]:
// the same connection may succeed without the device. Every other error is one of the connection.
type Device interface {
	Name() string
	// IsRNIC reports whether the device speaks iWARP. Its end that accepts may send only when it has
	// received something (RFC 5044 §7.1.2). The other devices are channel adapters.
	IsRNIC() bool
	// Can reports whether the device has an operation.
	Can(Op) bool
	// PrivateData returns how many bytes of private data a request and an answer carry at most. A
	// channel adapter fills up with zeros to these lengths.
	PrivateData() (request, answer int)

	// NewRegion registers n bytes of zeros, n > 0.
	NewRegion(n int, rights Rights) (Region, error)

	// Resolve returns the addresses of a name, at least one, in the order in which a program tries them. Dial
	// tries only the first address of a name.
	Resolve(ctx context.Context, network, address string) ([]string, error)
	// Dial and Listen take the networks and addresses of [net.Dial] and [net.Listen]. If the peer's program
	// has rejected the request, the error of Dial is a *[RejectError].
	Dial(ctx context.Context, network, address string, cfg QPConfig) (QP, error)
	Listen(ctx context.Context, network, address string) (QPListener, error)
}

// A QPListener takes requests for connections. Its methods may be called from any goroutine. Close
// ends a blocked Accept with an error that is os.ErrClosed.
type QPListener interface {
	// Accept waits for a request and accepts it. An error for which IsPeer reports true is that of
	// one peer; the QPListener goes on.
	Accept(ctx context.Context, cfg QPConfig) (QP, error)
	IsPeer(error) bool
	Addr() net.Addr
	Close() error
}

// A QPConfig says what a QP has.
type QPConfig struct {
	// Sends and Receives are how many work requests of each kind may be under way, and Segments is how many
	// Segments one may have.
	Sends, Receives, Segments int
	Reads                     int // RDMA Reads that each end may have under way
	// NoFlush says that nobody cares for work requests that are under way when the connection has
	// ended. Wait then returns why as soon as no Completion is left.
	NoFlush bool
	// PrivateData is what the peer's program gets with the request, or with the answer.
	PrivateData []byte
	// Prepare is called before the peer can send anything. It posts the first receives. Of an end that
	// accepts, it may also look at the peer's private data. An error of Prepare ends the connection, or
	// refuses it.
	Prepare func(QP) error
	// Answer, if not nil, returns the private data of an answer to the given request. It is called before
	// Prepare, and PrivateData is then not used.
	Answer func(request []byte) []byte
}

// A QP is a connection: a queue pair and its completion queue. Its methods may be called from any
// goroutine; of Wait, one call at a time is under way.
type QP interface {
	// Post posts a work request with local memory, which is the device's until the Completion.
	// PostReceive posts a receive: the next Send of the peer goes to the Segments.
	Post(r Request, local ...Segment) error
	PostReceive(id uint64, to ...Segment) error
	// Wait waits for Completions and fills dst with at least one. The error is that of ctx, or
	// [ErrDisconnected], os.ErrClosed or the device's once the connection has ended and no Completion is
	// left.
	Wait(ctx context.Context, dst []Completion) (n int, err error)
	PrivateData() []byte // the peer's; the caller must not change it
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	// Close ends the connection. When it returns, the device uses no memory of work requests any more. It
	// may be called more than once.
	Close() error
}

// A Region is registered memory. Its methods may be called from any goroutine.
type Region interface {
	// Bytes returns the memory, which lasts until Close.
	Bytes() []byte
	// Remote returns what a peer needs for Writes and Reads: the key of the Region, which RFC 5040
	// calls an STag, and the address of its first byte, the Tagged Offset.
	Remote() (key uint32, addr uint64)
	// Close ends the rights of peers and gives the memory back.
	Close() error
}

// Rights are what peers may do with a Region, as bits. The zero value is nothing: the Region is for
// Sends, and for what the own work requests read and write.
type Rights uint8

// The bits, as verbs number them.
const (
	RemoteWrite  Rights = 1 << 1 // by RDMA Write
	RemoteRead   Rights = 1 << 2 // by RDMA Read
	RemoteAtomic Rights = 1 << 3 // by atomics, which are atomic with respect to other atomics of peers
)

// A Segment is a part of a Region.
type Segment struct {
	Region   Region
	Off, Len int // bytes
}

// An Op is the operation of a work request.
type Op uint8

// The operations, in the names of RFC 5040 and RFC 7306. OpReceive is that of PostReceive. Not every
// device has those from OpFetchAdd on: see Device.Can.
const (
	OpSend Op = iota
	OpWrite
	OpRead
	OpReceive
	// OpFetchAdd adds to 8 bytes of the peer's memory, and OpCmpSwap stores there if they have a certain
	// value. Both put the value from before into the local memory. The peer's bytes and the local ones
	// are an integer in the byte order of the machine.
	OpFetchAdd
	OpCmpSwap
	// OpSendImmediate and OpWriteImmediate are a Send and a Write with 4 bytes of Immediate Data, which
	// the peer finds in the Completion of a receive. With verbs a Write with Immediate Data takes a
	// receive, and puts nothing there.
	OpSendImmediate
	OpWriteImmediate
)

var opNames = [...]string{"Send", "Write", "Read", "Receive", "FetchAdd", "CmpSwap", "Send with Immediate", "Write with Immediate"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// A Request is a work request.
type Request struct {
	ID uint64 // the program's own; the Completion has it
	Op Op
	// Key and Addr name the peer's memory, of all but the Sends: see Region.Remote. Addr of an atomic is a
	// multiple of 8.
	Key  uint32
	Addr uint64
	// Add is what OpFetchAdd adds. OpCmpSwap stores Swap if Compare is there.
	Add, Compare, Swap uint64
	Immediate          uint32
	Solicited          bool // of a Send: it asks the peer to raise an Event (RFC 5040 §5.3)
}

// A Completion is the end of a work request. From then on its memory is the program's again.
type Completion struct {
	ID  uint64
	Op  Op
	Len int // bytes that a Receive has got, or that an OpWriteImmediate of the peer has written
	// From is what the peer has posted, of a Receive: OpSend, OpSendImmediate or OpWriteImmediate.
	// Immediate is valid with the last two.
	From      Op
	Immediate uint32
	// Err is nil if the work request has succeeded. Otherwise FailureOf tells what has failed.
	Err error
}

// A Failure is the kind of an error of a work request.
type Failure uint8

// The failures.
const (
	FailureOther           Failure = iota // the device has no kind for it, or does not tell
	FailureFlushed                        // the connection had ended before the work request
	FailureLocalLength                    // a message was longer than its receive
	FailureLocalProtection                // local memory may not be used like that
	FailureRemoteAccess                   // the peer's memory may not be used like that
	FailureRemoteOperation                // the peer could not do it
)

// FailureOf returns the Failure of the Err of a Completion, which is what its method Failure() Failure returns.
func FailureOf(err error) Failure {
	if f, ok := err.(interface{ Failure() Failure }); ok { //nolint:errorlint // Err is not wrapped
		return f.Failure()
	}
	return FailureOther
}

// An Unavailability says why a device can't be used.
type Unavailability uint8

const (
	// NoDevice: the system has no RDMA device.
	NoDevice Unavailability = iota
	// NoPermission: this user may not use it, or may not register memory.
	NoPermission
	// NoResources: a limit has been reached, of the device or of the process.
	NoResources
	// NotSupported: the system, the driver or the device lacks what is needed.
	NotSupported
)

func (r Unavailability) String() string {
	if names := [...]string{"no device", "no permission", "no resources", "not supported"}; int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Unavailability(%d)", uint8(r))
}

// An UnavailableError means that a device can't do what was asked for. A program can do the same in
// its own process.
type UnavailableError struct {
	Reason Unavailability
	Err    error // the cause
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("device: %v: %v", e.Reason, e.Err) }
func (e *UnavailableError) Unwrap() error { return e.Err }

// A RejectError means that the peer's program does not want the connection.
type RejectError struct {
	PrivateData []byte // from the peer's program; a channel adapter fills it up with zeros
	Err         error  // the device's own error
}

func (e *RejectError) Error() string { return e.Err.Error() }
func (e *RejectError) Unwrap() error { return e.Err }

var (
	// ErrDisconnected means that the connection of a QP has ended and no Completion is left.
	ErrDisconnected = errors.New("disconnected")
	// ErrQueueFull means that as many work requests are under way as the queue of a QP has room for. Each
	// Completion makes room for one.
	ErrQueueFull = errors.New("queue full")
)
