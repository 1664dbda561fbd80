// Package extsock provides the extended socket: a net.Conn that a program can switch from plain TCP
// into DDP mode, in which the same TCP connection carries RDMA.
//
// # From Dial to a one-sided Read
//
// These twelve names are enough for a program that reads the memory of another.
//
//	extsock.Config           how connections behave; Config.Startup is the field to begin with
//	extsock.StartupRequire   connections are in DDP mode from the beginning
//	extsock.Listen           a net.Listener
//	Listener.AcceptDDP       the next connection in DDP mode
//	extsock.Dial             a connection to the server, in DDP mode too
//	Conn.Register            gives the peer access to memory
//	extsock.RemoteRead       the right to read it
//	Region.Handle            names the memory
//	Handle.AppendTo          encodes the Handle in 16 bytes, which the program sends as it likes
//	extsock.ParseHandle      decodes it
//	Conn.Remote              the memory that a Handle names, an io.ReaderAt and io.WriterAt
//	RemoteMemory.ReadAt      one RDMA Read
//
// The connection is a net.Conn, so Read, Write and Close are TCP's:
//
//	cfg := &extsock.Config{Startup: extsock.StartupRequire}
//	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer l.Close()
//	go func() { // the server lends memory
//		c, err := l.AcceptDDP()
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer c.Close() // also takes the memory back
//		region, err := c.Register([]byte("one-sided"), extsock.RemoteRead)
//		if err != nil {
//			log.Fatal(err)
//		}
//		c.Write(region.Handle().AppendTo(nil)) // 16 bytes that name the memory
//		io.Copy(io.Discard, c)                 // until the client closes
//	}()
//
//	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer c.Close()
//	b := make([]byte, 16)
//	if _, err := io.ReadFull(c, b); err != nil { // c is a net.Conn
//		log.Fatal(err)
//	}
//	handle, _, err := extsock.ParseHandle(b)
//	if err != nil {
//		log.Fatal(err)
//	}
//	p := make([]byte, handle.Len)
//	if _, err := c.Remote(handle).ReadAt(p, 0); err != nil { // an RDMA Read
//		log.Fatal(err)
//	}
//	fmt.Printf("%s\n", p)
//
// # For whom
//
//   - Programs that use sockets: [Dial], [Dialer], [Listen], [Listener], [Conn] and [Config]. A
//     replacement for a net.Conn needs nothing else.
//   - Programs that share memory: [Region], [Access] and [Handle], and for the peer's memory
//     [RemoteMemory]. [Domain] is for memory that several connections share, and [Memory] for
//     memory that an RDMA device reaches, too.
//   - Programs that use verbs: [WorkRequest], [RecvRequest], [CompletionQueue] and [Completion].
//   - Servers with foreign peers, which look at a connection before they accept it: [Request].
//   - Programs that monitor a process: [ConnectionState], [Connections], [TotalStats] and
//     [SetMemoryLimit]. Servers with hundreds of connections: [CollapseHeap].
//   - Programs written like C's: [SOL_DDP] and the options.
//
// This package alone is enough for sockets, memory and verbs. The layers below define the words of
// the last two, and these names are aliases. Other packages are for other needs:
//
//	package          what a program needs it for
//	toe              Backend, for TCP other than the operating system's, and for RDMA devices
//	mpa, ddp, rdmap  errors with the numbers of the RFCs, the kinds of RTR indication, and one
//	                 layer alone
//	extsock/capture  captures of connections, for Wireshark and rddp dump
//	extsock/stats    the types of what Conn.Stats, Connections and TotalStats count
//	extsock/metrics  the same for Prometheus
//
// # Three levels
//
// A [Conn] begins as a net.Conn and speaks plain TCP, byte for byte. [Conn.EnableDDP], or
// SetsockoptInt(SOL_DDP, DDPMODE, 1), switches it into DDP mode. Both programs must do so at the
// same point of their protocol. MPA startup then runs on the connection.
//
// In DDP mode Read and Write remain a byte stream if both ends are rddp. If Config.Messages is set
// at either end, or if the peer is not rddp, the connection is in message mode: one Write is one
// message, and each Read returns bytes of one message. In both modes the verbs work:
//
//   - [Conn.Register] gives the peer access to memory. The Handle of a [Region] has 16 bytes, which
//     the program sends to the peer by any means.
//   - [Conn.Remote] is the peer's memory as an io.ReaderAt and io.WriterAt.
//   - [Conn.Post] adds a Work Request to the send queue and returns at once. Its Completion arrives
//     in a completion queue, which connections may share.
//
// With Config.RSockets, Read and Write are the byte stream of librdmacm's rsockets. The peer is
// then a C program that knows nothing of RDMA, and there are no verbs.
//
// # Ways into DDP mode
//
// In the middle of a conversation, both programs call [Conn.EnableDDP] at the same point. They must
// first read everything that the peer has sent before, or the error is [ErrBusy] or [ErrNotMPA].
//
// At the beginning of a connection, [Config].Startup says what happens: StartupRequire switches,
// and StartupPrefer uses plain TCP if the peer does not speak MPA. No fallback is silent:
// [Conn.ConnectionState] has its reason, and Config.Trace gets an event. [Conn.Handshake] waits
// until startup is over.
//
// A [Listener] runs this startup in the background as soon as a connection arrives. So the peer's
// Dial returns whatever the accepting program does, and Accept does not wait for the peer. One
// Listener with StartupPrefer serves both kinds of peers. If foreign iWARP peers connect too,
// [Conn.ReceiveRequest] with Config.JudgeRequests tells all three kinds apart before this end sends
// anything.
//
// [Dialer.DialDDP] and [Listener.AcceptDDP] return connections in DDP mode, whatever Config.Startup
// says. The connections of [Listener.Accept] are *Conn values, in any mode.
//
// A [Dialer] replaces that of package net, for example in http.Transport. [NewConn] and
// [NewListener] take connections and listeners that something else has made, such as a
// net.ListenConfig.
//
// # Options
//
// [Config] has the settings with which connections begin, in groups; the ten that programs set most
// come first. [DDPMODE] is a socket option, as in C: [Conn.SetsockoptInt] sets it, and
// [Conn.GetsockoptInt] returns it. [Conn.ConnectionState] has what startup has agreed on.
//
// # Ownership of memory
//
// The payload of a Work Request belongs to the connection from Post to its Completion. Registered
// memory belongs to the program, but the peer may use it until Deregister returns. The program may
// read what the peer has written only after the Completion of a later message, such as a message
// that says so.
//
// # Receiving
//
// A Send of the peer needs a posted buffer. The connection posts buffers for Read, unless the
// program posts its own: by PostRecv before the switch, with Config.RecvCQ, or with Config.SRQ for
// many connections together. A program that posts them learns from [Conn.AwaitEnd] that the peer
// has closed the connection, and must then call Close.
//
// If Read and Write are a byte stream, unread data delays the peer's Writes and nothing else. In
// message mode at most Config.RecvDepth messages may be unread. Then the connection stops reading
// from TCP, and everything behind them waits too: the peer's one-sided operations, the answers to
// this end's operations, and even the peer's close. So a program in message mode must read, or post
// receive buffers.
//
// # The end of a connection
//
// However a connection ends, each Work Request that Post accepted completes exactly once, unless it
// is Unsignaled and succeeds. The error of Read, Write and the other methods says why the
// connection ended:
//
//	io.EOF                  the peer closed it properly
//	net.ErrClosed           this end closed it
//	*rdmap.TerminateError   a fault that one end reported to the other by a Terminate
//	other errors            a fault that a layer found
//
// All but io.EOF are inside a *net.OpError. The Err of a Completion is the bare error of the layer
// that ended the operation, so programs test it with errors.Is and errors.As: it is rdmap.ErrClosed
// after this end's Close, and matches io.EOF if the peer closed properly. A fault ends only its own
// connection.
//
// Close leaves some work in the background, such as the wait for the peer's FIN. [Conn.Wait] and
// [Listener.Wait] return when nothing is left, for example in a test that looks for leaks.
//
// # Limits on peers
//
// Everything that a peer can use up has a limit. The last column has the error, and the count of
// [Conn.Stats] or [TotalStats].
//
//	what                       set by                  default      at the limit
//	time for MPA startup       Config.HandshakeTimeout 5 s, 10 s    context.DeadlineExceeded;
//	                                                                HandshakeTimeouts
//	half-open connections      Config.MaxHalfOpen      4096 per     the oldest of the address with
//	                                                   Listener     most is closed: ErrLimit;
//	                                                                HalfOpenEvictions
//	connections not accepted   –                       128 per      more wait in the operating
//	                                                   Listener     system's backlog
//	startup after a bad STag   Config.BadSTagDelay     1 s per      the Request waits, or ErrLimit
//	                                                   address      if longer than
//	                                                                HandshakeTimeout; BadSTagDelays
//	private data               RFC 5044 §7.1.1         512 bytes    *mpa.Error
//	the peer's Reads in flight Config.IRD              16           Terminate, *ddp.Error
//	message                    Config.RecvSize         64 KiB       Terminate, *ddp.Error
//	unread messages            Config.RecvDepth        32           the peer has no credits; in
//	                                                                message mode the connection
//	                                                                stops reading from TCP
//	memory of the process      SetMemoryLimit          128 MiB      fewer credits; in message mode
//	                                                                the connection stops reading
//	                                                                from TCP: MemoryStalls
//	silence                    Config.IdleTimeout      none         ErrLimit; IdleTimeouts
//	a peer that takes no data  Config.WriteTimeout     none         ErrLimit; WriteTimeouts
//	the end                    Config.CloseTimeout     5 s          the connection is closed at once
//
// Beyond TCP's own memory, a connection takes about:
//
//	half open                              14 KiB
//	idle in DDP mode                       22 KiB
//	busy, to receive and to send           66 KiB each, beyond its share of SetMemoryLimit
//	unread data of a byte stream           at most eight messages of Config.RecvSize: 512 KiB
//	unread data in message mode            64 KiB and one message
//	rsockets, busy or not                  twice Config.RecvSize, and 320 KiB of Writes
//	failed, waiting for the peer's FIN     16 KiB
//
// A connection that waits for Accept may be busy. The Region that a peer is granted for a
// rendezvous is the memory of the Read that waits for it, or replaces that memory after the Read
// has returned. It has at most 64 MiB, and the connection's share of SetMemoryLimit bounds it
// further.
//
// Two things have no limit: the number of connections that the program accepts, and the time for
// which a connection with StartupPrefer may send nothing before its first byte, unless
// Config.SniffTimeout limits it. A TLS handshake of Dial may take 10 s.
//
// A panic in this package, or in code of the program that a goroutine of this package calls, such
// as a Tap, a trace handler, a callback of the tls.Config or a net.Conn below, ends its connection
// with an error whose text has the stack, but it does not end the program. [Conn.Stats] and
// [TotalStats] count such panics. A panic in a call of the program's own goroutine may reach that
// goroutine.
//
// # What is missing
//
// A connection cannot return from DDP mode to TCP mode. CloseWrite in DDP mode needs the byte
// stream. Deadlines bound calls that wait, but not Work Requests that were posted.
package extsock
