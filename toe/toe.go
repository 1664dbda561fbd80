package toe

import (
	"context"
	"net"
	"time"
)

// DefaultEMSS is the EMSS, in bytes, that a backend returns when it does not know the real value:
// Ethernet's 1500 minus 40 for IPv4 and TCP headers and 12 for timestamps.
const DefaultEMSS = 1448

// A Stream is one TCP connection, or another byte stream that behaves like one.
//
// A Stream has two sets of methods. The methods of net.Conn are the plain byte stream: the
// application uses them in TCP mode, and MPA startup uses them. After startup the driver uses the
// other methods. Read and ReadSegment take bytes from the same stream, but nobody may call Read
// once ReadSegment has been called. Write and TryWriteBatch put bytes into the same stream.
//
// The methods of net.Conn may be called from any goroutine, as always. So may Flush, CloseWrite,
// Abort, EMSS, Unwatch and Capabilities. Only one call at a time of ReadSegment, Pending and Watch
// is allowed, and only one of TryWriteBatch and WaitWritable. Reading and writing are independent.
//
// No method keeps a slice past its return. A blocked call ends with os.ErrDeadlineExceeded when its
// deadline passes, and with net.ErrClosed when the Stream is closed (both as errors.Is sees them).
type Stream interface {
	// Conn is the plain byte stream. Close does not wait until the peer has the data. A Stream that
	// continues in the background after Close should have a method Wait(context.Context) error,
	// which waits until that work is done. Its only error is that of the context.
	net.Conn

	// ReadSegment waits until there is something to read, and then reads a run of bytes into the
	// memory that l lends. The run starts at off in the stream. Offset 0 is the first byte that
	// ReadSegment returns; bytes that Read has read before do not count.
	//
	// Every byte is returned once in order: off is then the number of bytes returned in order
	// before. A backend that declares EarlyRuns may also show a run early, as a hint: off is then
	// greater than that number, and the same bytes are returned again in order.
	//
	// n is 0 only if err is not nil or if l lends no memory, and off is then the next in-order
	// offset. The error is io.EOF at the peer's FIN, and again in every later call. ReadSegment
	// obeys the read deadline.
	//
	// For at most patience, ReadSegment may poll for bytes before it waits: a goroutine that does
	// not sleep need not be woken, and the wake-up is the larger part of a short round trip.
	// Backends may ignore patience.
	//
	// A Stream that polls may have a method PollSegment with the same signature. It is ReadSegment
	// without the wait: if nothing has come after patience, n is 0 and err is nil. It counts as a
	// call of ReadSegment.
	//
	// A Stream may have a method SetQuiet(bool). The caller calls it between two calls of
	// ReadSegment: with true if the data that were read concern only the peer, because they were
	// answered without the program, and with false as soon as other data were read.
	ReadSegment(l Lender, patience time.Duration) (n int, off uint64, err error)

	// Pending returns the number of bytes that have arrived in order and have not been read. A
	// backend that does not declare Pending counts only the bytes that it knows of, so its 0 has no
	// meaning.
	Pending() (n int, err error)

	// Watch opens g once, soon after ReadSegment would no longer wait: there are bytes, the stream
	// has ended or failed, or the Stream is closed. If that is already the case, g opens soon too.
	// The read deadline does not open g. Watch is for times in which nobody reads. A goroutine can
	// then wait for g, and another one may begin to read without waking it.
	//
	// A call replaces the Gate of the call before. The watch lasts until g opens or Unwatch is
	// called, also while a goroutine reads, so g may open because of bytes that have been read
	// since.
	//
	// If Watch reports false, nothing opens g: the Stream does not declare Watch, or the operating
	// system has refused it. A refusal is permanent. The resources of a Watch in the process are
	// released by Close, and when ReadSegment has returned the end of the stream or its failure.
	Watch(g *Gate) bool

	// Unwatch ends the watch. The Gate may still open a moment later. Calling Unwatch before
	// reading is optional. It saves the process from being woken for each segment that arrives.
	Unwatch()

	// TryWriteBatch writes as many bytes of bufs, in order, as the stream takes without waiting,
	// and returns their number. If n is less than the total and err is nil, the send buffer is
	// full. With an error, n bytes were taken before it. Empty slices are allowed. TryWriteBatch
	// does not change bufs, ignores the write deadline and allocates nothing.
	//
	// Some of bufs may be registered memory, which changes at any time, and which nobody can
	// deregister during the call. So TryWriteBatch must not wait for other calls of the program,
	// and what it computes from a byte and the byte that it sends must come from one look at it.
	TryWriteBatch(bufs [][]byte) (n int, err error)

	// WaitWritable waits until TryWriteBatch would take at least one byte or would fail. After a
	// TryWriteBatch that did not take everything, it may wait for more room than one byte. It needs
	// no memory of the caller, so no payload is in use while it waits. WaitWritable obeys the write
	// deadline, whether there is room or not. If the connection has failed, it returns the error or
	// leaves that to TryWriteBatch.
	WaitWritable() error

	// Flush waits, after CloseWrite or Close, until everything that was written, and the end
	// itself, has left this process. After that the process can exit without losing any data. If
	// that takes longer than timeout, the error is os.ErrDeadlineExceeded; any other error says why
	// the bytes cannot leave. A backend whose send buffer belongs to the operating system returns
	// nil at once.
	Flush(timeout time.Duration) error

	// CloseWrite sends a FIN after everything written so far; reading continues. A backend that
	// does not declare HalfClose returns errors.ErrUnsupported and changes nothing.
	CloseWrite() error

	// Abort closes the Stream at once and drops what has not been sent. If the backend declares
	// Reset, the peer sees that the connection was reset; otherwise the peer at least sees no
	// orderly end if the stream has one, such as the close_notify of TLS. Like Close, Abort ends
	// blocked calls, and the Stream is closed afterwards.
	Abort() error

	// EMSS returns the Effective Maximum Segment Size in bytes, always > 0: "the smaller of the TCP
	// maximum segment size (MSS) as defined in RFC 793 [RFC793], and the current path Maximum
	// Transmission Unit (MTU)" (RFC 5044 §2). It changes over time and is cheap: ask once per
	// message. A backend that cannot know it returns [DefaultEMSS].
	EMSS() int

	// Capabilities returns what this Stream can do. The value never changes.
	Capabilities() Capabilities
}

// A Lender lends ReadSegment the memory to read into. ReadSegment calls it in the caller's
// goroutine; its methods must not use the Stream.
//
// A Lender lends late, when there is something to read, so an idle connection holds no buffer.
type Lender interface {
	// Lend returns the memory to read into. The Stream calls it each time before it tries to read.
	// The memory lent last is in use until TakeBack is called or ReadSegment returns.
	Lend() []byte

	// TakeBack takes the memory back, because the Stream found nothing and is about to wait. The
	// Stream may also call it before the first Lend. TakeBack reports whether the Lender keeps the
	// memory anyway, because it holds bytes already: then the Stream may call Lend and wait with
	// that memory.
	TakeBack() (kept bool)
}

// A Parcel is memory in which bytes of a stream lie already. A Stream can give it to a [Borrower]
// instead of copying the bytes.
type Parcel interface {
	// Memory returns the whole memory. The bytes begin at offset at, and the memory around them is
	// free to use.
	Memory() (b []byte, at int)
	// Release gives the memory back.
	Release()
}

// A Passer is a Stream that can pass payload to a Borrower at the other end in the memory of a
// Parcel.
type Passer interface {
	// NewParcel returns a Parcel with room for n bytes. If all of them, and nothing else, are one
	// of the buffers of TryWriteBatch, they may be passed without a copy. The memory does not
	// change until the Parcel is released and the bytes have been read. NewParcel returns nil if
	// there is nothing to gain.
	NewParcel(n int) Parcel
}

// A Borrower is a Lender that may take the next bytes of the stream in the memory of a Parcel.
type Borrower interface {
	Lender
	// Borrow takes p, whose bytes count as read into the memory lent last. It returns false if the
	// bytes are to be copied. The Borrower releases p, not before the next call of ReadSegment.
	Borrow(p Parcel) bool
}

// Capabilities is what a [Stream] declares about itself. The zero value of each field means that
// the Stream lacks the capability, so a new field changes no existing backend.
type Capabilities struct {
	// Deadlines: SetReadDeadline and SetWriteDeadline work. Without it a blocked read ends only
	// with the stream; WaitWritable still obeys its deadline.
	Deadlines bool

	// HalfClose: CloseWrite works.
	HalfClose bool

	// Reset: the peer sees an Abort as a reset, not as an orderly end.
	Reset bool

	// Pending: Pending counts every byte that has arrived.
	Pending bool

	// Watch: Watch works, if the operating system allows it.
	Watch Watching

	// EarlyRuns: ReadSegment may show runs before the gap in front of them has closed. If the
	// Stream has a method ShowEarly(bool), the stack calls it with false if it uses none.
	EarlyRuns bool

	// Aligns: TryWriteBatch ends a TCP segment only where a slice ends, as far as there is room in
	// the send buffer and in the windows, if no slice of the batch is longer than EMSS.
	Aligns bool
}

// A Listener accepts Streams. Its methods may be called from any goroutine; Close ends a blocked
// Accept with net.ErrClosed.
type Listener interface {
	Accept() (Stream, error)
	Close() error
	Addr() net.Addr
}

// A Backend makes Streams: the kernel's TCP, a user-space TCP, a simulator. network and address are
// as for [net.Dial] and [net.Listen], as far as the backend supports them. ctx bounds the call
// only, not the Stream or Listener that it returns. The methods may be called from any goroutine.
type Backend interface {
	Dial(ctx context.Context, network, address string) (Stream, error)
	Listen(ctx context.Context, network, address string) (Listener, error)
}
