package toe

import (
	"context"
	"net"
	"time"
)

// DefaultEMSS is the EMSS, in octets, that a backend states when it cannot
// know better: Ethernet's 1500 less 40 of IPv4 and TCP headers and 12 of
// timestamps.
const DefaultEMSS = 1448

// A Stream is one TCP connection, or another byte stream that behaves like
// one.
//
// The methods of net.Conn may be called from any goroutine, as always. Of
// ReadSegment, Readable and [Pender] one call at a time may be under way, and
// of WriteBatch, [TryWriter] and [WaitWriter] one; reading does not disturb
// writing. EMSS and CloseWrite may be called from any goroutine.
//
// No method keeps a slice past its return. A blocked call ends with
// os.ErrDeadlineExceeded when its deadline passes and with net.ErrClosed when
// the Stream is closed (both as errors.Is sees it). Close does not wait for
// data to reach the peer.
type Stream interface {
	// Conn is the plain byte stream, before and during MPA startup. Read and
	// ReadSegment take octets from the same stream, but once ReadSegment has
	// been called Read is not to be used any more.
	net.Conn

	// ReadSegment reads a run of octets into p, waiting until there is at least
	// one, and says where in the stream the run starts: off 0 is the first octet
	// that ReadSegment gives, so what Read took before does not count.
	//
	// Every octet comes once in order: off is then the number of octets that
	// came in order before. A backend that sees segments arrive out of order
	// may also show a run early, as a hint: off is then beyond that number, and
	// the same octets come again in order.
	//
	// n is 0 exactly when err is not nil or p is empty; off is then the next
	// in-order offset. The error is io.EOF at the peer's FIN. ReadSegment obeys
	// the read deadline.
	ReadSegment(p []byte) (n int, off uint64, err error)

	// Readable waits until ReadSegment would not block, and needs no buffer from
	// the caller meanwhile: idle connections stay small. It returns nil when
	// octets are there and at the peer's FIN. Of a failed connection it returns
	// the error or leaves that to ReadSegment. Readable obeys the read deadline.
	Readable() error

	// WriteBatch writes all octets of bufs in order, waiting while the send
	// buffer is full. It may overwrite the slice headers in bufs, never what
	// they point to; empty slices are allowed. After an error it is unknown how
	// many octets were taken. WriteBatch obeys the write deadline.
	WriteBatch(bufs [][]byte) error

	// CloseWrite sends a FIN after everything written so far; reading goes on.
	// The error is errors.ErrUnsupported where the stream has no half-close.
	CloseWrite() error

	// EMSS returns the Effective Maximum Segment Size in octets, always > 0:
	// "the smaller of the TCP maximum segment size (MSS) as defined in RFC 793
	// [RFC793], and the current path Maximum Transmission Unit (MTU)"
	// (RFC 5044 §2). It changes over time and is cheap: ask once per message.
	// A backend that cannot know it states [DefaultEMSS].
	EMSS() int
}

// A TryWriter is what a [Stream] may offer besides: a write that never waits.
type TryWriter interface {
	// TryWriteBatch writes as many octets of bufs, in order, as the stream takes
	// without blocking, and returns how many. n less than the total with a nil
	// error means that the send buffer is full now. With an error, n octets
	// were taken before it. bufs is not changed, the write deadline is ignored,
	// and nothing is allocated.
	TryWriteBatch(bufs [][]byte) (n int, err error)
}

// A WaitWriter is what a [TryWriter] may offer besides: waiting for room without
// holding the octets.
type WaitWriter interface {
	// WaitWritable waits until TryWriteBatch would take at least one octet, or
	// would fail; behind a TryWriteBatch that took less than all, it may wait for
	// more room than one octet's. It holds no slice of the caller's. WaitWritable
	// obeys the write deadline, whether there is room or not. Of a failed
	// connection it returns the error or leaves that to TryWriteBatch.
	WaitWritable() error
}

// A Flusher is what a [Stream] may offer besides, if it has a send buffer that ends with the process, as that of the
// operating system does not.
type Flusher interface {
	// Flush waits, after CloseWrite or Close, until all that was written, and the end itself, has been handed on,
	// for at most timeout. Then the error is os.ErrDeadlineExceeded; another one says why it can't be.
	Flush(timeout time.Duration) error
}

// A Pender is what a [Stream] may offer besides: how much there is to read.
type Pender interface {
	// Pending returns the number of octets that have arrived in order and have
	// not been read.
	Pending() (n int, err error)
}

// A LazyReader is what a [Stream] may offer besides: Readable and ReadSegment in
// one call, with one system call where that needs two.
type LazyReader interface {
	// ReadLazily waits until there is something to read and then reads it, as
	// ReadSegment does, into the buffer that lend returns. It calls lend each
	// time it is about to try, and giveBack when there was nothing, so that no
	// buffer is held while it waits. When it returns, the buffer lent last is
	// out, unless it has not called lend since giveBack. Both functions are
	// called in the caller's goroutine and must not use the Stream.
	//
	// For so long as patience says it may try again and again before it waits,
	// letting other threads run in between: who is woken that soon is woken for
	// much less.
	ReadLazily(patience time.Duration, lend func() []byte, giveBack func()) (n int, off uint64, err error)
}

// A Listener accepts Streams. Its methods may be called from any goroutine;
// Close ends a blocked Accept with net.ErrClosed.
type Listener interface {
	Accept() (Stream, error)
	Close() error
	Addr() net.Addr
}

// A Backend makes Streams: the kernel's TCP, a user-space TCP, a simulator.
// network and address are those of [net.Dial] and [net.Listen] as far as the
// backend knows them. ctx bounds the call only, not the Stream or Listener it
// returns. The methods may be called from any goroutine.
type Backend interface {
	Dial(ctx context.Context, network, address string) (Stream, error)
	Listen(ctx context.Context, network, address string) (Listener, error)
}
