package extsock

import (
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Config says how connections behave. The zero value is ready to use, and a nil *Config means the
// same. Most programs set one or two of the first ten fields. The other fields follow in groups.
//
// A Config may be shared by many connections. This package does not modify it, and the caller must
// not modify it once a connection uses it.
type Config struct {
	// The ten fields that programs set most.

	// Startup says whether connections enter DDP mode when they begin. Zero means StartupOff: the
	// program calls EnableDDP or sets the option DDPMODE.
	Startup Startup

	// TLS, if not nil, puts TLS between TCP and everything above it, MPA included. Dial runs the
	// TLS handshake, for at most 10 s. If ServerName is empty, Dial takes it from the address. A
	// Listener's connections run the handshake at their first use, never in Accept. NewConn ignores
	// TLS: pass it a *tls.Conn instead.
	TLS *tls.Config

	// Messages selects message mode: in DDP mode each Write is one Send, and each Read returns
	// bytes of one message. Without Messages, Read and Write remain a byte stream if the peer is
	// rddp too and has not set Messages itself.
	Messages bool

	// RecvDepth is the maximum number of Work Requests in the receive queue. When the connection
	// posts the buffers itself, it is also the maximum number of unread messages. Zero or less
	// means 32. The maximum is 65535.
	//
	// In message mode, the connection stops reading from TCP once RecvDepth messages are unread,
	// until Read takes one. Everything behind them then waits too, including the answers to this
	// end's own RDMA Reads.
	//
	// In a byte stream, RecvDepth is at least 4, and the peer gets a credit for each message.
	// SetMemoryLimit may reduce the credits, but not below 8, or RecvDepth if that is less.
	RecvDepth int

	// RecvSize is the length in bytes of each buffer that the connection posts for Read. It is the
	// maximum length of a message that the connection can receive. Zero or less means 64 KiB. The
	// minimum in a byte stream is 512, and the maximum is 2147483647.
	RecvSize int

	// SendCQ and RecvCQ are the completion queues of the send queue and of the receive queue.
	// Connections may share them. Nil means that each connection has its own. If RecvCQ is set, the
	// program owns the receive queue: it posts all receive buffers, and Read returns
	// ErrMode.
	SendCQ, RecvCQ *CompletionQueue

	// Domain is the Protection Domain of the memory that connections register. Connections may
	// share a Domain. Nil means that each connection has its own. ddp.Domain.Register registers
	// memory for all connections of a Domain if its stream is 0. The peer's Handle of such a Region
	// r is rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: uint32(r.Len())}.
	Domain *ddp.Domain

	// IdleTimeout ends a connection in DDP mode with ErrLimit when nothing is sent or
	// received for that long, or up to a quarter longer. Zero or less means no limit.
	IdleTimeout time.Duration

	// Trace receives the events in this table. Later versions may add events and keys. Each event
	// has the keys local and peer, which are addresses, and role, which is "initiator" or
	// "responder". No lock is held while the handler is called, so it may use other connections; it
	// must not use its own. Once a connection is in DDP mode, the handler is called in a goroutine
	// of the connection, in the order of the events, and Conn.Wait waits for it. Nil means no
	// trace.
	//
	//	message                    level  keys
	//	rddp: DDP mode             Info   what startup agreed on: revision, enhanced, crc,
	//	                                  tx_markers, rx_markers, ird, ord, peer_ird, peer_ord,
	//	                                  peer_to_peer, rtr, rddp (the peer is rddp),
	//	                                  extensions (RFC 7306), large_fpdus, emss (bytes)
	//	rddp: byte stream          Info   send_credits and send_size: number of the messages that
	//	                                  the peer has room for, and maximum bytes of data in
	//	                                  each; recv_credits and recv_size: number of this end's
	//	                                  receive buffers, and bytes of each
	//	rddp: rsockets             Info   the same keys; each size is that of half a buffer
	//	rddp: messages             Info   the same keys; send_credits and send_size are 0 if the
	//	                                  peer has not announced them
	//	rddp: application receives Info
	//	rddp: rejected             Info   err: one end's program rejected the connection
	//	rddp: plain TCP            Info   reason (in words), err: a connection that prefers DDP
	//	                                  mode is plain TCP
	//	rddp: no DDP mode          Warn   err: why startup failed
	//	rddp: address waits        Debug  for: how long (Config.BadSTagDelay)
	//	rddp: memory limit         Debug  a connection in message mode stops reading from TCP
	//	                                  (SetMemoryLimit)
	//	rddp: not on a device      Info   reason, err: the connection runs in this process, although
	//	                                  Config.Backend has a device
	//	rddp: panic                Warn   value, stack: a bug; see Conn.Stats
	//	rddp: no credits           Debug  a Write waits until the peer's program reads
	//	rddp: Terminate sent       Warn   layer, type, code: as RFC 5040 names them; err: the fault
	//	rddp: Terminate received   Warn   layer, type, code
	//	rddp: connection ends      Info   by: "local" (Close) or "peer" (the peer's close)
	//	rddp: connection ends      Warn   by: "failure"; err
	//	rddp: closed               Debug  the last byte is sent, and the connection reads no more
	//	rddp: capture starts       Info
	//	rddp: capture stops        Info
	//	rddp: events lost          Warn   n: number of Debug events that were dropped because the
	//	                                  handler is slow
	Trace *slog.Logger

	// How startup goes.

	// HandshakeTimeout bounds MPA startup. For an Initiator it bounds all of startup. For a
	// Responder it bounds the wait for the whole Request, and then the answer again; with
	// StartupPrefer the wait counts from the first byte. Zero or less means 10 s for an Initiator
	// and 5 s for a Responder.
	HandshakeTimeout time.Duration

	// PreferTimeout is how long Dial with StartupPrefer waits for the peer's MPA Reply before it
	// falls back to plain TCP. Zero or less means 2 s.
	PreferTimeout time.Duration

	// SniffTimeout is for protocols in which the accepting side speaks first. It applies to
	// accepted connections with StartupPrefer: if the peer sends nothing for that long after
	// startup begins, the connection is plain TCP.
	//
	// Zero means that a Write waits 1 s for the peer's first bytes, and that a Read waits for them
	// without limit. A negative value means that a Write waits without limit too. If the peer has
	// sent a part of what may be an MPA Request, HandshakeTimeout bounds the wait for the rest. If
	// the stream below has no deadlines, only the peer ends the wait.
	SniffTimeout time.Duration

	// JudgeRequests leaves each MPA Request to the program, which calls Conn.ReceiveRequest. A
	// Listener then does not run the startup that Startup asks for. If the program does not call
	// ReceiveRequest, startup runs at the connection's first Read, Write or Handshake. Until then
	// the peer's Dial waits.
	JudgeRequests bool

	// RetryRevision1 makes Dial try once more, on a new connection and in MPA revision 1, when the
	// peer closes the connection instead of answering a Request in revision 2 (RFC 6581 §10). It is
	// for Responders that know only RFC 5044. A server that accepts and closes every connection
	// sees two of them.
	RetryRevision1 bool

	// What startup offers to the peer, and asks of it.

	// PrivateData is sent to the peer's program in the MPA Request or Reply: at most 488 bytes, or
	// 508 with NoCapabilities (RFC 5044 §7.1.1, RFC 6581 §9). Linux passes at most 231 of them on
	// to its programs.
	PrivateData []byte

	// RSockets is for peers that use librdmacm's rsockets, such as C programs under its preload
	// library: Read and Write are the byte stream of rsockets. An Initiator with RSockets connects
	// to such peers only. A Responder with RSockets also serves all other peers; it recognizes
	// rsockets by the private data. Two rddp ends can speak rsockets too, but their own byte stream
	// is faster. An Initiator without RSockets gets that one.
	//
	// RecvSize is then the length of each half of the receive buffer, which the connection has from
	// its startup to its end. It is rounded down to a number with one byte that is not zero, such
	// as 256, 3 << 8 or 64 << 10. PrivateData is not sent. Writes are copied. The verbs return
	// ErrMode, and CloseRead errors.ErrUnsupported. RSockets has no effect with Messages, RecvCQ or
	// SRQ.
	RSockets bool

	// IRD is the maximum number of the peer's RDMA Reads and atomics in flight, and ORD the maximum
	// number of this end's. Zero means 16, and a negative value means none. The largest value is
	// 16382 (RFC 6581 §9.1).
	IRD, ORD int

	// Extensions allows the operations of RFC 7306 (atomics and Immediate Data), in both
	// directions, with a peer that has not announced them. Without Extensions these operations work
	// between two rddp ends only.
	Extensions bool

	// NoCRC says that this end does not want a CRC32C in each FPDU. FPDUs have one nevertheless if
	// the peer wants it. NoCRC is for connections whose bytes are protected otherwise, such as by
	// TLS. Package extsock never sets it by itself, because RFC 5044 §4.4 leaves that to the
	// program.
	NoCRC bool

	// Markers asks the peer to put markers into the FPDUs that it sends to this end (RFC 5044
	// §4.3).
	Markers bool

	// MaxFPDU is the maximum length in bytes of an FPDU that this end sends, with its header, CRC
	// and markers: 136 to 64776. With less than 140, an FPDU with a marker has up to 140, because
	// the payload that must fit has no smaller limit (RFC 5044 §4.5). Zero means automatic. FPDUs
	// then fit into a TCP segment, or are as long as possible if both ends are rddp.
	MaxFPDU int

	// PeerToPeer asks for the peer-to-peer model (RFC 6581 §5). The Initiator's first FPDU is then
	// a Ready to Receive indication of one of the kinds in RTR, and after it both ends may send.
	// Only an Initiator uses PeerToPeer. It needs revision 2. It is not needed if both ends are
	// rddp.
	PeerToPeer bool

	// RTR is the set of Ready to Receive indications that this end can send or receive. Zero means
	// zero-length RDMA Write and zero-length RDMA Read.
	RTR mpa.RTR

	// Revision is the newest MPA revision that the connection may use: 1 or 2. Zero means 2. An
	// Initiator asks for this revision. A Responder answers in the revision of the Request, and
	// refuses a newer one.
	Revision int

	// NoEnhanced turns off the enhanced header of RFC 6581. An Initiator does not ask for it, and a
	// Responder refuses it.
	NoEnhanced bool

	// NoCapabilities leaves out the capability record, by which two rddp ends recognize each other.
	// The record precedes PrivateData, so the program of a foreign peer would see it there. An end
	// with NoCapabilities likewise finds the peer's record in the peer's private data.
	//
	// Without the record, the accepting end cannot send before the dialing end has sent (RFC 5044
	// §7.1.2), Read and Write carry messages, atomics and Immediate Data need Extensions, and FPDUs
	// are not longer than TCP segments.
	NoCapabilities bool

	// The queues and rights of verbs.

	// SendDepth is the maximum number of Work Requests in the send queue. Zero or less means 128,
	// and 32 on a device (Backend), where it is at most 4096.
	SendDepth int

	// SRQ is the shared receive queue from which connections take their receive buffers. Nil means
	// that each connection has a receive queue of its own. If SRQ is set, the program owns the
	// receive queue. It posts buffers to SRQ instead of calling PostRecv, and takes their
	// Completions from RecvCQ. RecvCQ must have an entry for each buffer that is not in SRQ. A Send
	// that finds no buffer, or no entry, ends its connection. Conn.AwaitEnd returns when the peer
	// has closed a connection.
	SRQ *rdmap.SharedReceiveQueue

	// How bytes move.

	// Crossover is the minimum length in bytes of a Write that a byte stream offers to its reader.
	// The reader grants memory, and RDMA Writes place the bytes there without a copy. A Read whose
	// memory was granted returns only when all of the granted bytes have arrived, so a read
	// deadline must allow time for them. Zero means that the connection chooses: of the Writes of
	// 2 MiB and more, it offers those that an offer makes faster, as far as it can tell from the
	// Writes before. A negative value means never.
	Crossover int

	// PollTime is how long a Read in DDP mode polls for bytes before it sleeps, for programs that
	// buy a shorter round trip with processor time. It takes effect while Reads follow one another
	// quickly. Zero means that a Read polls for up to 50 µs where that was worth its cost recently,
	// and only while hardly any other connection of the process waits. A negative value means that
	// no Read polls. The maximum is 1 ms, because a Read that polls does not notice its deadline or
	// Close.
	//
	// All this is also true of calls that wait for an answer of the peer: the methods of
	// [RemoteMemory], and Wait and WaitBatch of SendCQ. But zero means that they poll for up to 100
	// µs, one call at a time, if polling has ended such calls sooner than sleeping.
	PollTime time.Duration

	// NoEarlyPlacement turns off early placement: over a TCP that shows bytes while others before
	// them are missing, payload is placed at once (toe.Capabilities.EarlyRuns). Early placement
	// needs Markers from the peer, and CRCs. So Dial asks for Markers on such a TCP, and if a peer
	// that is not rddp rejects the Request, or closes the connection, Dial tries once more without
	// Markers, on a new connection. For Dialer.FallbackFor it then asks that peer for none. A
	// Responder asks every rddp peer for Markers.
	NoEarlyPlacement bool

	// The end, and limits on peers.

	// CloseTimeout bounds two waits of Close and of a connection that has failed: first until TCP
	// has taken all queued data, and then, in the background, for the peer's FIN. Zero or less
	// means 5 s for each.
	CloseTimeout time.Duration

	// WriteTimeout ends a connection in DDP mode with ErrLimit when the peer's TCP accepts no data
	// for that long while data waits to be sent. The data may be answers to the peer's own RDMA
	// Reads. Zero or less means no limit.
	//
	// A peer whose program does not read, but whose host does, is not affected; use
	// SetWriteDeadline for such peers. Below TLS, or another stream that is not the operating
	// system's TCP, the connection notices progress only when a large part of TCP's send buffer
	// becomes free.
	WriteTimeout time.Duration

	// MaxHalfOpen is the maximum number of half-open connections of one Listener. A connection is
	// half open while its startup waits for the peer's MPA Request. If there are more, one is
	// closed with ErrLimit: the oldest of the address that has most of them (of IPv6, the /64). An
	// honest peer stays half open for one round trip, so the oldest connection is the least likely
	// to be honest, and refusing the newest would let silent peers lock everybody out (RFC 5042
	// §6.4.2). A flood from one address closes its own connections only.
	//
	// With StartupPrefer a connection is not half open before its first byte, because it may be
	// plain TCP; but it is if the program calls AcceptDDP, which would not return such a
	// connection. Zero means 4096. A negative value means no limit.
	MaxHalfOpen int

	// BadSTagDelay is how long a Listener delays the MPA Requests of an address after a connection
	// from that address ended because it used an STag, or bounds of an STag, that it did not have.
	// The delay keeps a peer from trying many STags quickly (RFC 5042 §6.1.1).
	//
	// Each further connection that ends so adds the same delay, up to 60 times BadSTagDelay. If the
	// delay is longer than HandshakeTimeout, the connection ends at once with ErrLimit. A
	// Listener remembers the last 1024 addresses, IPv6 addresses by their /64 prefix. Plain TCP is
	// not delayed. Zero means 1 s. A negative value means no delay.
	BadSTagDelay time.Duration

	// What is below the connection, and what looks at its bytes.

	// Backend is the TCP implementation below the connections. Nil means the operating system's
	// TCP.
	//
	// A Backend may also have an RDMA device (rnic.Deviced), as that of package verbs has. A
	// connection that Dial, or Accept of a Listener made by Listen, brings into DDP mode then runs
	// on the device, and Read and Write are its byte stream as in this process. If the device
	// cannot run it, the connection runs in this process, over the Backend's TCP; ConnectionState
	// says where it runs, and why. A setting that no device supports is such a reason. In message
	// mode RecvSize also bounds what Write sends. RecvDepth and RecvSize are 16 and 32 KiB unless
	// set, because the memory for them is registered for as long as the connection lives.
	Backend toe.Backend

	// Tap, if not nil, is called once for each connection. It returns the [toe.Tap] that sees all
	// bytes of the connection, or nil for none. The Tap of a Writer of package capture is such a
	// function.
	Tap func(local, remote net.Addr, initiator bool) toe.Tap
}

// Startup says whether a connection enters DDP mode when it begins.
type Startup int

const (
	// StartupOff leaves the connection in TCP mode until the program switches it.
	StartupOff Startup = iota
	// StartupPrefer switches to DDP mode if the peer speaks MPA, and uses plain TCP otherwise.
	// Conn.ConnectionState says which.
	//
	// Dial tries MPA startup first. If the peer sends no MPA Reply, Dial connects again in plain
	// TCP, and the peer has seen one connection that began with an MPA Request. To avoid such
	// connections, the Dialer remembers the peer's behavior for some time (see Dialer.FallbackFor).
	//
	// A Listener looks at the first bytes of each connection. If they are an MPA Request, startup
	// goes on. Everything else is the program's data. So one port serves both kinds of peers.
	StartupPrefer
	// StartupRequire switches to DDP mode, or fails. Dial runs startup, and fails if startup fails.
	// A Listener runs startup of each connection as soon as the connection arrives; see
	// Listener.Accept, and JudgeRequests for programs that want to run startup themselves.
	//
	// A connection made by NewConn runs startup at its first Read, Write or Handshake. It cannot
	// dial again, so an Initiator with StartupPrefer behaves as with StartupRequire.
	StartupRequire
)

const (
	defaultSendDepth    = 128
	defaultRecvDepth    = 32
	defaultRecvSize     = 64 << 10
	defaultDepth        = 16 // IRD and ORD
	initiatorTimeout    = 10 * time.Second
	responderTimeout    = 5 * time.Second
	defaultPrefer       = 2 * time.Second
	defaultCloseTimeout = 5 * time.Second

	maxRecvDepth = math.MaxUint16
	maxRecvSize  = math.MaxInt32 // fits an int of 32 bits and the capability record
)

func (c *Config) recvDepth() int {
	fewest := 1
	if !c.Messages {
		fewest = bytestream.MinCredits
	}
	return min(max(positive(c.RecvDepth, defaultRecvDepth), fewest), maxRecvDepth)
}

func (c *Config) recvSize() int {
	fewest := 1
	if !c.Messages {
		fewest = bytestream.MinMessage
	}
	return min(max(positive(c.RecvSize, defaultRecvSize), fewest), maxRecvSize)
}

func (c *Config) sendDepth() int {
	n := positive(c.SendDepth, defaultSendDepth)
	if c.RSockets {
		n = max(n, rsocketSendDepth)
	}
	return n
}

func (c *Config) closeTimeout() time.Duration {
	return positive(c.CloseTimeout, defaultCloseTimeout)
}

func (c *Config) handshakeTimeout(initiator bool) time.Duration {
	if initiator {
		return positive(c.HandshakeTimeout, initiatorTimeout)
	}
	return positive(c.HandshakeTimeout, responderTimeout)
}

func (c *Config) preferTimeout() time.Duration { return positive(c.PreferTimeout, defaultPrefer) }

// depth returns the IRD or ORD that a value of Config means.
func depth(n int) int { return max(orDefault(n, defaultDepth), 0) }

// positive returns v if it is positive, and def otherwise.
func positive[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func orDefault[T ~int | ~int64](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}
