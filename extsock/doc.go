// Package extsock is the extended socket: a net.Conn that a program can switch from plain TCP into
// DDP mode, where the same connection carries RDMA.
//
// # Three levels
//
// A [Conn] begins as a net.Conn, octet for octet what TCP is. [Conn.EnableDDP], or
// SetsockoptInt(SOL_DDP, DDPMODE, 1), runs MPA startup at the point of the application's protocol
// that both ends agree on. After it Read and Write go on as a byte stream between two rddp ends, or carry messages
// (Config.Messages, or another peer), and the verbs work:
//
//   - [Conn.Register] lends memory to the peer. The Handle of a [Region] is 16 octets, which the program
//     sends to the peer by any means.
//   - [Conn.Remote] is the peer's memory as an io.ReaderAt and io.WriterAt.
//   - [Conn.Post] puts a Work Request into the send queue and returns at once. Its Completion comes to a
//     completion queue, which connections may share.
//
// The verbs are those of the layers below, so a program that posts Work Requests imports these packages
// as well:
//
//	package  what it has for a program
//	rdmap    WorkRequest and its operations (WorkSend, WorkRead …), RecvRequest, SharedReceiveQueue,
//	         CompletionQueue, Completion with its Status, Handle, TerminateError, errors of Post
//	ddp      access rights (RemoteRead, RemoteWrite, RemoteAtomic), Domain, errors of Register
//	mpa      RejectError, Error, the kinds of RTR indication
//	toe      Backend, for TCP other than the operating system's
//
// # Ways into DDP mode
//
// In the middle of a conversation: both programs call [Conn.EnableDDP] at the same point of it. What the peer
// has sent before has to be read first, else the error is [ErrUnread] or [ErrNotMPA].
//
// At the start, as [Config].Startup says: required, or preferred with plain TCP where the peer does not speak
// MPA. A [Listener] runs this startup in the background as soon as a connection comes, so Dial returns whatever the
// accepting program does, and Accept does not wait for a peer. One Listener with StartupPrefer serves both kinds of
// peers; where foreign iWARP peers come too, [Conn.ReceiveRequest] with Config.JudgeRequests tells all three apart
// before anything is answered. No fallback is silent: [Conn.ConnectionState] tells, and Config.Trace gets an
// event. [Conn.Handshake] waits until startup is over.
//
// [Dialer.DialDDP] and [Listener.AcceptDDP] return connections in DDP mode, whatever Config.Startup says.
// What [Listener.Accept] returns is a *Conn, in any mode.
//
// A [Dialer] and a [ListenConfig] stand where net's do, in http.Transport for example; [NewConn] and
// [NewListener] take what was made elsewhere.
//
// # Options
//
// [Config] has the settings with which connections begin. [Conn.SetsockoptInt] changes those of one
// connection, at level [SOL_DDP], until the switch to DDP mode begins. After that the error is
// [ErrMode], or [ErrBusy] while the switch is under way. [Conn.GetsockoptInt] returns the setting,
// and in DDP mode what startup agreed on.
//
//	option            value
//	DDPMODE           1: DDP mode, 0: TCP mode; setting it to 1 calls Conn.EnableDDP
//	DDP_MARKERS       1: markers in what this end receives
//	DDP_CRC           1: CRC32C in each FPDU; 0 has an effect only if the peer agrees
//	DDP_MPA_REVISION  newest revision of MPA, 1 or 2
//	DDP_MAX_FPDU      maximum octets of an FPDU that this end sends, 136 to 64776; 0: automatic
//	DDP_IRD, DDP_ORD  maximum RDMA Reads in flight towards this end and from it, 0 to 16382
//	DDP_RECV_DEPTH    receive buffers for Read, 1 to 65535; set it before the first verb
//	DDP_RECV_SIZE     octets of each receive buffer for Read, 1 to 2147483647
//	DDP_CROSSOVER     octets from which a Write is placed by RDMA Write; 0: measured, -1: never
//	DDP_MESSAGES      1: each Write is a message, 0: Read and Write are a byte stream
//
// An option or level that does not exist gives errors.ErrUnsupported. A value that the option cannot
// have gives syscall.EINVAL.
//
// # Who owns what
//
// The payload of a Work Request is the connection's from Post to its Completion. Registered memory
// stays the application's, and the peer's to use, until Deregister returns. What a peer has written
// may be looked at after a Completion that came behind it in the stream (a message that says so),
// and not before.
//
// # Who reads
//
// Sends need posted buffers. Unless the application posts its own (PostRecv before the switch,
// Config.RecvCQ, or Config.SRQ for many connections together), the connection finds them itself, for Read.
// Where Read and Write are a byte stream, which they are between two rddp ends that do not ask for
// messages, what is unread holds up the peer's Writes and nothing else. In message mode (Config.Messages,
// or a foreign peer) at most Config.RecvDepth messages wait for Read; then the connection stops reading from
// TCP, and everything else that comes waits too: the peer's one-sided operations, the answers to ours, even
// the peer's close. So read what comes, or post receives.
//
// # Ends
//
// Whatever ends a connection, each accepted Work Request completes exactly once. The peer's proper
// close gives io.EOF, our own net.ErrClosed, a protocol fault a *rdmap.TerminateError or the error
// of the layer that found it, all inside a *net.OpError. A fault costs this connection only.
//
// # What a peer can use up
//
// All of it is bounded. In the last column is the error, and the count of Stats or Totals.
//
//	what                       set by                  default      at the limit
//	time for MPA startup       Config.HandshakeTimeout 5 s, 10 s    context.DeadlineExceeded; HandshakeTimeouts
//	half-open connections      Config.MaxHalfOpen      4096 a       the oldest goes: ErrLimit; HalfOpenEvictions
//	                                                   Listener
//	connections not accepted   –                       128 a        more wait in the operating system's backlog
//	                                                   Listener
//	startup after a bad STag   Config.BadSTagDelay     1 s an       the Request waits, ErrLimit if that is longer than
//	                                                   address      HandshakeTimeout; BadSTagDelays
//	private data               RFC 5044 §7.1.1         512 octets   *mpa.Error
//	the peer's Reads in flight Config.IRD              16           Terminate, *ddp.Error
//	message                    Config.RecvSize         64 KiB       Terminate, *ddp.Error
//	unread messages            Config.RecvDepth        32           the peer has no credits; else nothing is read from TCP
//	memory of the process      SetMemoryLimit          128 MiB      fewer credits; else nothing is read from TCP:
//	                                                                MemoryStalls
//	silence                    Config.IdleTimeout      none         ErrIdleTimeout; IdleTimeouts
//	a peer that takes nothing  Config.WriteTimeout     none         ErrWriteTimeout; WriteTimeouts
//	the end                    Config.CloseTimeout     5 s          the connection is closed as it is
//
// A connection that is half open takes about 14 KiB, an idle one in DDP mode about 22 KiB beyond TCP. One that is busy
// takes, beyond its share of SetMemoryLimit, 66 KiB each to receive and to send, and unread data: at most eight messages of
// Config.RecvSize for a byte stream, 512 KiB by default, and 64 KiB and one message in message mode. One that waits for Accept may be busy. One that has failed and
// waits for the peer's FIN takes 16 KiB. The Region that a peer was granted for a rendezvous
// is memory of the Read that waits for it, or replaces that when the Read is over; it has 64 MiB at most. Not bounded are how many connections
// there are, which is up to who calls Accept, and how long a connection with StartupPrefer may stay silent before its first
// octet, unless Config.SniffTimeout says; a TLS handshake has 10 s.
//
// A panic in this package ends its connection, with a *PanicError, and not the program; Stats.Panics counts them.
//
// # Limits
//
// There is no way back from DDP mode to TCP mode. Half-close in DDP mode needs the byte stream. Deadlines
// bound the blocking calls, not Work Requests that were posted.
package extsock
