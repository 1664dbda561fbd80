package locks

// A Rank is the place of a kind of lock in the order. The Ranks are the types in this file; their
// values are not used.
type Rank interface{ ~struct{} }

// order is the order in which a goroutine may lock, outermost first. The comments name the package,
// the lock, and the purpose of the lock.
var order = [...]any{
	// Of the commands, whose servers hold connections.
	ProxyRoutes{}, // proxy, Router.setting: held while the routes are replaced
	ProxyEnd{},    // proxy, plainEnd.mu: held while a Write may be under way

	// Of rddp run: the program's calls, its descriptors and its ids.
	Supervisor{}, // run, supervisor.mu: the program's open files
	Netlink{},    // run, netlink.mu: the answers for the netlink sockets of programs
	FileBell{},   // run, openFile.bell: a look at the send queues of a program
	CM{},         // cm, CM.mu: the ids of a connection manager

	// Of the RNIC of rddp run.
	RNICContext{}, // softrnic, Context.mu: the objects of a program's context, held during a command
	RNICPairs{},   // softrnic, Context.pairsMu: the queue pairs that a doorbell looks at
	RNICPort{},    // softrnic, port.mu: where the peers of a Protection Domain connect
	RNICAnswers{}, // softrnic, link.answers: the answers to Reads and atomics, on their way into memory
	RNICSend{},    // softrnic, queuePair.sendMu: the send queue
	RNICReceive{}, // softrnic, queuePair.recvMu: what has come, on its way into memory, and the flush of receives
	RNICPair{},    // softrnic, queuePair.mu: the attributes, the connection, and the work requests that are not complete
	RNICWindow{},  // softrnic, memoryWindow.mu
	RNICRegion{},  // softrnic, memoryRegion.mu: the windows of a region
	RNICLookout{}, // softrnic, lookout.mu: the queues that wait for receives

	// Of a connection.
	Backlog{},    // extsock, backlog.mu: the connections that wait for Accept
	Writer{},     // driver, byteStream.writing: the one Write that is under way
	Plain{},      // extsock, Conn.plainIn and Conn.plainOut, channels: the Read, the Write of TCP mode that is under way
	Conn{},       // extsock, Conn.mu: what a connection knows of its peer
	Startup{},    // startup, Handshake.mu: how a connection begins
	RSockets{},   // extsock, rsocket.mu: both ways of a connection that speaks rsockets
	Token{},      // driver, tx.token, an atomic: the way out
	Poster{},     // internal/conn/device, Engine.posting: what a connection on a device posts, in order
	Device{},     // internal/conn/device, Engine.mu: a connection on a device
	Inbox{},      // driver, lockedDelivery.mu: what has come and is not read
	ByteStream{}, // driver, byteStream.mu: credits and what waits to be sent
	Borrowed{},   // driver, token.mu: who waits to take a payload back, and who has set the token down
	Life{},       // driver, life.mu: the state of a connection in DDP mode, and why it ends
	ReadBound{},  // driver, readBound.mu: how long receiving goes on

	// Of RDMAP and DDP.
	PostRecv{},    // rdmap, QP.postRecvMu: a receive on its way from the QP to DDP's queue
	QP{},          // rdmap, QP.mu
	Windows{},     // ddp, windows.mu: the windows of one Region
	Region{},      // ddp, Region.mu: held for reading while bytes are copied
	Queue{},       // ddp, Queue.mu: an untagged queue, and the copies into its buffers
	Domain{},      // ddp, Domain.mu: the STags
	Keys{},        // ddp, keySource.mu: where STags are drawn from
	SharedQueue{}, // rdmap, SharedReceiveQueue.mu
	Completions{}, // rdmap, CompletionQueue.mu

	// Of around a connection.
	Doorbells{}, // driver, Doorbells.mu: what connections have put off, of one completion queue
	Regions{},   // extsock, verbs.regionsMu: what the connection has registered
	Door{},      // startup, Door.mu: the half-open connections of a Listener
	Admission{}, // internal/admission, Limiter.mu: the places of a server's connections
	Idle{},      // driver, idle.mu: the idle timeout
	Records{},   // startup, Records.mu: what a Dialer remembers of fallbacks
	Live{},      // counters, live.mu: the sums of all connections
	Capture{},   // observe, Taps.mu: the Taps of a connection
	Trace{},     // observe, Trace.mu: the events that the handler of a trace has not got
	Signal{},    // wait, Signal.mu: a condition that many wait for
	Deadline{},  // wait, Deadline.mu: a deadline of Read or Write

	// Of the Streams and Devices of toe.
	Network{},      // simtoe, Network.mu: addresses
	Buffered{},     // netconn, stream.mu: a send buffer above a net.Conn
	Simulator{},    // simtoe, the lock of both ends of a connection
	Stack{},        // usertcp, Stack.beginning: what a Stack begins, until it is closed
	UserTCP{},      // usertcp, Stream.mu and listener.mu: the goroutines that wait for TCP
	Tap{},          // usertcp, tap.mu: the connections that the tap knows
	Flow{},         // usertcp, flow.mu: what the tap knows of a connection
	Packets{},      // usertcp, packets.mu: the packets on a link in memory
	Watch{},        // toe/kernel, watch.mu: the watch of one socket
	Unarmed{},      // toe/kernel, unarmed.mu: the watches that the kernel does not know of yet
	Watcher{},      // toe/kernel, watching.mu: the sockets of the process that are watched
	VerbsBackend{}, // verbs, Backend.mu: the device, while it is opened
	VerbsWait{},    // verbs, QP.poll: the one Wait that is under way
	VerbsRegion{},  // verbs, Region.mu: held while it is registered and deregistered
	VerbsPost{},    // verbs, QP.post: the two queues, and what is under way
	VerbsDevice{},  // verbs, Device.mu: the ends of connections, and the Regions that are not closed

	// Of memory, and what is innermost in rddp run.
	Updating{},        // ddp, updating: an atomic operation on memory that is no slice
	ShmRead{},         // shm, Stream.readMu: held by the reader
	ShmWrite{},        // shm, Stream.writeMu: held by the writer
	ShmHalf{},         // shm, half.mu: one direction of a connection through memory
	FaultWay{},        // fault, way.mu: one packet after the other
	RNICCompletions{}, // softrnic, completionQueue.mu
	RNICReceives{},    // softrnic, receiveQueue.mu: the receives of a queue pair, or of many
	RNICAsync{},       // softrnic, Context.asyncMu: the channel of asynchronous events
	RNICCopying{},     // softrnic, memoryRegion.copying: held for reading while the device copies for its own program
	RNICPlacing{},     // softrnic, placing.mu: bytes that are placed late, on request

	// Of everything else.
	Leaf{}, // a mutex whose holder locks no other one
}

type (
	ProxyRoutes     struct{}
	ProxyEnd        struct{}
	Supervisor      struct{}
	Netlink         struct{}
	FileBell        struct{}
	CM              struct{}
	RNICContext     struct{}
	RNICPairs       struct{}
	RNICPort        struct{}
	RNICAnswers     struct{}
	RNICSend        struct{}
	RNICReceive     struct{}
	RNICPair        struct{}
	RNICWindow      struct{}
	RNICRegion      struct{}
	RNICLookout     struct{}
	Backlog         struct{}
	Writer          struct{}
	Plain           struct{}
	Conn            struct{}
	Startup         struct{}
	RSockets        struct{}
	Token           struct{}
	Poster          struct{}
	Device          struct{}
	Inbox           struct{}
	ByteStream      struct{}
	Borrowed        struct{}
	Life            struct{}
	ReadBound       struct{}
	PostRecv        struct{}
	QP              struct{}
	Windows         struct{}
	Region          struct{}
	Queue           struct{}
	Domain          struct{}
	Keys            struct{}
	SharedQueue     struct{}
	Completions     struct{}
	Doorbells       struct{}
	Regions         struct{}
	Door            struct{}
	Admission       struct{}
	Idle            struct{}
	Records         struct{}
	Live            struct{}
	Capture         struct{}
	Trace           struct{}
	Signal          struct{}
	Deadline        struct{}
	Network         struct{}
	Buffered        struct{}
	Simulator       struct{}
	Stack           struct{}
	UserTCP         struct{}
	Tap             struct{}
	Flow            struct{}
	Packets         struct{}
	Watch           struct{}
	Unarmed         struct{}
	Watcher         struct{}
	VerbsBackend    struct{}
	VerbsWait       struct{}
	VerbsRegion     struct{}
	VerbsPost       struct{}
	VerbsDevice     struct{}
	Updating        struct{}
	ShmRead         struct{}
	ShmWrite        struct{}
	ShmHalf         struct{}
	FaultWay        struct{}
	RNICCompletions struct{}
	RNICReceives    struct{}
	RNICAsync       struct{}
	RNICCopying     struct{}
	RNICPlacing     struct{}
	Leaf            struct{}
)
