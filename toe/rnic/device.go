package rnic

import (
	"context"
	"net"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Deviced is a [toe.Backend] with an RDMA device beside its TCP. The device does TCP, MPA, DDP
// and RDMAP, or the protocol of a channel adapter. The stack uses the Backend's TCP for connections
// that cannot run on the device.
type Deviced interface {
	toe.Backend
	// Device opens the device in the first call that succeeds, and returns the same device from
	// then on. The error is an *[UnavailableError] if there is no device for this process.
	Device() (Device, error)
}

// A Device makes queue pairs that are connected. Its methods may be called from any goroutine.
//
// A device may lack what a connection needs, or refuse it. The error is then an
// *[UnavailableError]: the same connection may succeed without the device. Every other error is
// about the connection.
type Device interface {
	Name() string
	// IsRNIC reports whether the device speaks iWARP. Its end that accepts may send only when it
	// has received something (RFC 5044 §7.1.2). The other devices are channel adapters.
	IsRNIC() bool
	// Can reports whether the device has an operation.
	Can(Op) bool
	// PrivateData returns how many bytes of private data a request and an answer carry at most. A
	// channel adapter pads them with zeros to these lengths.
	PrivateData() (request, answer int)

	// NewRegion registers n bytes of zeros, n > 0. Peers may do with them what access says, and
	// nothing if it is 0: the Region is then for Sends, and for the local memory of this end's work
	// requests.
	NewRegion(n int, access ddp.Access) (Region, error)

	// Resolve returns the addresses of a name, at least one, in the order in which a program tries
	// them. Dial tries only the first address of a name.
	Resolve(ctx context.Context, network, address string) ([]string, error)
	// Dial and Listen take the networks and addresses of [net.Dial] and [net.Listen]. If the peer's
	// program has rejected the request, the error of Dial is a *[RejectError].
	Dial(ctx context.Context, network, address string, cfg QPConfig) (QP, error)
	Listen(ctx context.Context, network, address string) (QPListener, error)
}

// A QPListener takes requests for connections. Its methods may be called from any goroutine. Close
// ends a blocked Accept with an error that is os.ErrClosed.
type QPListener interface {
	// Accept waits for a request and accepts it. An error for which IsPeer returns true is about
	// one peer; the QPListener continues.
	Accept(ctx context.Context, cfg QPConfig) (QP, error)
	IsPeer(error) bool
	Addr() net.Addr
	Close() error
}

// A QPConfig describes a QP.
type QPConfig struct {
	// Sends and Receives are the maximum numbers of outstanding work requests of each kind, and
	// Segments is the maximum number of Segments of one work request.
	Sends, Receives, Segments int
	Reads                     int // RDMA Reads that each end may have outstanding
	// NoFlush means that the program does not need the Completions of work requests that are
	// outstanding when the connection ends. Wait then returns the reason as soon as no Completion
	// is left.
	NoFlush bool
	// PrivateData is sent to the peer's program with the request, or with the answer.
	PrivateData []byte
	// Prepare is called before the peer can send anything. It posts the first receives. On an end
	// that accepts, it may also look at the peer's private data. An error of Prepare ends the
	// connection, or refuses it.
	Prepare func(QP) error
	// Answer, if not nil, returns the private data of an answer to the given request. It is called
	// before Prepare, and PrivateData is then not used.
	Answer func(request []byte) []byte
}

// A QP is a connection: a queue pair and its completion queue. Its methods may be called from any
// goroutine; only one call of Wait at a time is allowed.
type QP interface {
	// Post posts a work request with local memory, which belongs to the device until the
	// Completion. PostReceive posts a receive: the next Send of the peer goes to the Segments. If
	// the queue has no room until the next Completion, the error is [rdmap.ErrQueueFull].
	Post(r Request, local ...Segment) error
	PostReceive(id uint64, to ...Segment) error
	// Wait waits for Completions and fills dst with at least one. The error is ctx.Err(). Once the
	// connection has ended and no Completion is left, it is [ErrDisconnected], os.ErrClosed or the
	// device's error.
	Wait(ctx context.Context, dst []Completion) (n int, err error)
	PrivateData() []byte // the peer's; the caller must not change it
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	// Close ends the connection. When it returns, the device no longer uses the memory of work
	// requests. It may be called more than once.
	Close() error
}

// A Region is registered memory. Its methods may be called from any goroutine.
type Region interface {
	// Bytes returns the memory, which is valid until Close.
	Bytes() []byte
	// Handle returns what a peer needs for Writes and Reads: the key of the Region, the address of
	// its first byte and its length, at most 2^32-1. RFC 5040 calls the first two STag and Tagged
	// Offset.
	Handle() rdmap.Handle
	// Close ends the rights of peers and gives the memory back.
	Close() error
}
