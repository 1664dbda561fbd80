package extsock

import (
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Config says how connections behave. The zero value works, and nil stands for it. It is not
// changed by this package, and must not be changed by the caller once a connection uses it.
type Config struct {
	// Backend is the TCP under the connections. Nil means kernel TCP.
	Backend toe.Backend

	// TLS, where it is not nil, puts TLS between TCP and all the rest, MPA included. Dial runs the handshake, for at most 10 s,
	// with ServerName from the address where it is empty; the connections of a Listener run it at their
	// first use, never in Accept. NewConn does not look at it: it is given a *tls.Conn instead.
	TLS *tls.Config

	// Startup says when a connection enters DDP mode by itself. Zero means never: the program
	// switches with EnableDDP or SetsockoptInt.
	Startup Startup
	// PreferTimeout is how long Dial with StartupPrefer waits for the peer's MPA Reply before it falls
	// back to plain TCP. Zero or less means 2 s.
	PreferTimeout time.Duration
	// SniffTimeout is for protocols in which the accepting side speaks first: with StartupPrefer, a connection
	// of which nothing has come that long after startup has begun is plain TCP. Zero means that a Write waits 1 s
	// for the peer's first octets, and a Read waits for them without limit; negative means that a Write does so,
	// too. A peer that has sent a part of what could be a Request gets HandshakeTimeout for the rest. Over a
	// stream without deadlines nothing but the peer ends the wait.
	SniffTimeout time.Duration
	// JudgeRequests leaves each MPA Request to the program, which calls Conn.ReceiveRequest: a Listener does not
	// run the startup that Startup asks for. Where the program does not call ReceiveRequest, startup runs at the
	// connection's first Read, Write or Handshake. Until then the peer's Dial waits.
	JudgeRequests bool
	// RetryRevision1 makes Dial try once more in MPA revision 1, on a new connection, where the peer closes the
	// connection instead of answering a Request in revision 2 (RFC 6581 §10). It is for Responders of RFC 5044's time.
	// A server that accepts connections and closes them gets two.
	RetryRevision1 bool

	// Revision is the newest MPA revision to be used: 1 or 2. Zero means 2. An Initiator asks for it; a
	// Responder answers in the revision of the Request and refuses a newer one.
	Revision int
	// NoEnhanced does without the enhanced header of RFC 6581: an Initiator does not ask for it, a
	// Responder refuses it.
	NoEnhanced bool
	// NoCRC says that this end does not want CRC32C on its FPDUs. It stays on if the peer wants it.
	NoCRC bool
	// Markers asks the peer to put markers into what this end receives (RFC 5044 §4.3).
	Markers bool
	// IRD and ORD are the most RDMA Reads and atomics in flight towards this end and from it.
	// Zero means 16, negative means none; the largest is 16382 (RFC 6581 §9.1).
	IRD, ORD int
	// MaxFPDU is the most octets of an FPDU that this end sends, Markers included. Zero lets the path and
	// the peer decide: a TCP segment, or more between two rddp ends.
	MaxFPDU int
	// PeerToPeer asks for the peer-to-peer model (RFC 6581 §5): the Initiator's first FPDU is a
	// Ready to Receive indication of one of the kinds in RTR, after which both ends may send. It is an
	// Initiator's wish, and needs revision 2; towards another rddp end it is not needed.
	PeerToPeer bool
	// RTR is the set of kinds this end can do. Zero means zero-length Write and zero-length Read.
	RTR mpa.RTR
	// PrivateData is what the peer's application gets with the Request or Reply, at most 488
	// octets (RFC 5044 §7.1.1 and what the capability record takes). Linux shows 231 of them.
	PrivateData []byte
	// NoCapabilities leaves out the capability record with which two rddp ends know each other.
	// It stands in front of PrivateData, where a foreign peer's application would see it. Without it the
	// accepting end cannot send before the dialling one has (RFC 5044 §7.1.2), atomics and Immediate Data
	// are off, and FPDUs are no longer than TCP segments.
	NoCapabilities bool
	// Extensions sends the operations of RFC 7306 (atomics, Immediate Data) even to a peer that
	// has not announced them, and answers its. Without it they work between two rddp ends only.
	Extensions bool

	// Messages selects message mode: in DDP mode each Write is one Send, and Read returns the octets of
	// one message. Without it Read and Write stay a stream of octets, as long as the peer is rddp too and
	// does not ask for messages.
	Messages bool
	// Crossover is the length in octets from which a Write to a byte stream is placed in the reader's memory by
	// RDMA Write, after an offer and a grant. A Read into whose memory it goes returns when all of it is
	// there, so a read deadline has to leave time for that. Zero means that it is measured; negative, never.
	Crossover int
	// SendDepth is the maximum number of Work Requests in the send queue. Zero or less means 128.
	SendDepth int
	// RecvDepth is the most Work Requests outstanding in the receive queue; where the connection posts
	// the buffers, for Read, it is how many messages can wait to be read; when so many do, messages behind them, the
	// answers to our own Reads included, wait in TCP until Read takes one. For a byte stream it is at
	// least 4 and the credits of the peer; SetMemoryLimit may leave fewer credits, 8 at least. Zero or less means 32, the
	// most is 65535.
	RecvDepth int
	// RecvSize is the length in octets of each of the buffers that a Conn posts for Read, and so the
	// longest message it can get; for a byte stream at least 512. Zero or less means 64 KiB, the most is 2147483647.
	RecvSize int
	// SendCQ and RecvCQ take the completions; connections may share them. Nil means one of the
	// connection's own. Giving a RecvCQ makes the application the owner of the receive queue.
	SendCQ, RecvCQ *rdmap.CompletionQueue
	// SRQ is where the receive buffers come from, and connections may share it. Giving one makes the
	// application the owner of the receive queue: it posts buffers to SRQ and not with PostRecv, and takes
	// Completions from a RecvCQ, which must have an entry for each buffer that is not in SRQ. A Send that
	// finds no buffer, or no entry, ends its connection. Nil means that each connection has its own.
	SRQ *rdmap.SharedReceiveQueue
	// Domain is the Protection Domain of the connection's registered memory; connections may share
	// it. Nil means one of the connection's own.
	Domain *ddp.Domain

	// HandshakeTimeout bounds MPA startup: the whole of it for an Initiator; for a Responder the wait
	// for the Request, however slowly it comes (with StartupPrefer from its first octet on), and again the
	// answer. Zero or less means 10 s for an Initiator and 5 s for a Responder.
	HandshakeTimeout time.Duration
	// CloseTimeout bounds what Close and a failed connection wait for: what is queued to be handed
	// to TCP, and then, in the background, the peer's FIN. Zero or less means 5 s.
	CloseTimeout time.Duration

	// WriteTimeout is how long the peer's TCP may take nothing of what is to be sent, answers to its own Reads
	// included; then the connection ends with ErrWriteTimeout. Zero means without limit, as TCP has it. A peer whose
	// program does not read, but whose host does, is up to SetWriteDeadline. Below TLS, or another stream that is not the
	// operating system's, what TCP takes shows only when a good part of its send buffer is free.
	WriteTimeout time.Duration
	// IdleTimeout is how long nothing may come and nothing be sent in DDP mode; then, or up to a quarter of it later,
	// the connection ends with ErrIdleTimeout. Zero means without limit, as TCP has it.
	IdleTimeout time.Duration
	// MaxHalfOpen is the most connections of one Listener that wait for their peer's MPA Request, once it is asked
	// for or its first octet is there. If there are more, the oldest is closed, with ErrLimit: an honest peer needs one
	// round trip, and refusing the newest would let silent peers keep everybody out (RFC 5042 §6.4.2). Zero means
	// 4096, negative any number. A connection of StartupPrefer of which nothing has come is not counted: for all
	// that is known it is plain TCP.
	MaxHalfOpen int
	// BadSTagDelay is for how long a Listener lets the Request of an address wait after a connection from there has
	// ended because it used an STag, or bounds of one, that it does not have (RFC 5042 §6.1.1): so STags can't be tried
	// out quickly. Each further one adds as much, up to 60 times; a wait longer than HandshakeTimeout ends the
	// connection at once, with ErrLimit. The last 1024 addresses are remembered, IPv6 by /64. Plain TCP does not
	// wait. Zero means 1 s, negative never.
	BadSTagDelay time.Duration

	// Trace gets events as in this table; new ones and new keys may be added. Each has the keys local and peer,
	// which are addresses, and role: "initiator" or "responder". The handler must not use the connection. Nil is
	// off.
	//
	//	message                    level  keys
	//	rddp: DDP mode             Info   startup's agreement: revision, enhanced, crc, tx_markers, rx_markers, ird,
	//	                                  ord, peer_ird, peer_ord, peer_to_peer, rtr; rddp (so is the peer),
	//	                                  extensions (RFC 7306), large_fpdus, emss (octets)
	//	rddp: byte stream          Info   send_credits, send_size: how many messages of how many octets the peer's
	//	                                  buffers hold; recv_credits, recv_size: the same of this end
	//	rddp: messages             Info   the same; 0 where the peer has not said
	//	rddp: application receives Info
	//	rddp: rejected             Info   err: one end's program did not want the connection
	//	rddp: plain TCP            Info   reason (in words), err: a connection that prefers DDP mode does without
	//	rddp: no DDP mode          Warn   err: why startup has failed
	//	rddp: address waits        Debug  for: how long (Config.BadSTagDelay)
	//	rddp: memory limit         Debug  a connection in message mode stops reading from TCP (SetMemoryLimit)
	//	rddp: panic                Warn   value, stack: a bug; see PanicError
	//	rddp: no credits           Debug  a Write waits for the peer's program to read
	//	rddp: Terminate sent       Warn   layer, type, code: in the words of RFC 5040; err: what was found
	//	rddp: Terminate received   Warn   layer, type, code
	//	rddp: connection ends      Info   by: "local" (Close) or "peer" (its close)
	//	rddp: connection ends      Warn   by: "failure"; err
	//	rddp: closed               Debug  the last octet is out, and nothing more is read
	//	rddp: capture starts       Info
	//	rddp: capture stops        Info
	Trace *slog.Logger
	// Tap, called once for each connection, returns what is to see all its octets, or nil. Capture.Tap fits.
	Tap func(local, remote net.Addr, initiator bool) Tap
}

// Startup is when a connection enters DDP mode.
type Startup int

const (
	// StartupOff leaves the connection in TCP mode until the program switches it.
	StartupOff Startup = iota
	// StartupPrefer switches where the peer can, and is plain TCP where it can't;
	// Conn.ConnectionState tells. Dial tries MPA startup, and dials again in plain TCP if the peer gives no MPA
	// Reply. That costs a connection which the peer sees begin with an MPA Request, so the Dialer
	// remembers for a while what the peer has said (see Dialer.FallbackFor). A Listener looks at the first
	// octets of each connection: an MPA Request goes on as startup, everything else is the
	// application's. So one port serves both kinds of peers.
	StartupPrefer
	// StartupRequire switches in Dial, which fails when the peer does not follow. A Listener switches
	// each connection.
	//
	// A Listener runs startup as soon as a connection is there, whatever its program does; see
	// Listener.Accept for what it does not wait for, and JudgeRequests for programs that want to see to
	// startup themselves. A Conn of NewConn switches at its first Read, Write or Handshake, with
	// StartupPrefer in the Initiator's part, too, because it cannot dial again.
	StartupRequire
)

// A Tap sees every octet of a connection, for a capture. Its methods are called in stream order
// for each direction, from any goroutine, and must not keep p. A Tap that takes long makes a slow connection. A call that
// sends or receives for itself waits for the Tap whatever its deadline; one that waits for another goroutine does not.
type Tap interface {
	Sent(p []byte)     // p is about to be written
	Received(p []byte) // p was read
	Closed()           // no more will come; called once
}

const (
	defaultSendDepth    = 128
	defaultRecvDepth    = 32
	defaultRecvSize     = 64 << 10
	defaultDepth        = 16 // IRD and ORD
	initiatorTimeout    = 10 * time.Second
	responderTimeout    = 5 * time.Second
	defaultPrefer       = 2 * time.Second
	defaultSniff        = time.Second
	defaultCloseTimeout = 5 * time.Second
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

func (c *Config) sendDepth() int { return positive(c.SendDepth, defaultSendDepth) }

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

// depth gives an IRD or ORD from its Config value.
func depth(n int) int { return max(orDefault(n, defaultDepth), 0) }

// positive returns v, or def where v is not positive.
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
