package locks

// A Rank is the place of a kind of lock in the order. The Ranks are the types in this file, and they have no values
// to speak of.
type Rank interface{ ~struct{} }

// order is the order in which a goroutine may lock, outermost first. DESIGN.md has the same list.
var order = [...]any{
	Backlog{}, Writer{}, Plain{}, Conn{}, Startup{}, RSockets{}, Token{}, Poster{}, Device{}, Inbox{}, ByteStream{}, Borrowed{}, Life{}, ReadBound{},
	PostRecv{}, QP{}, Windows{}, Region{}, Queue{}, Domain{}, Keys{}, SharedQueue{}, Completions{},
	Doorbells{}, Regions{}, Door{}, Crowd{}, Idle{}, Records{}, Live{}, Capture{}, Trace{}, Signal{}, Deadline{}, Network{},
	Buffered{}, Simulator{}, Stack{}, UserTCP{}, Tap{}, Flow{}, Packets{}, Watch{}, Watcher{},
}

// Of extsock.
type (
	Backlog    struct{} // a Listener's backlog
	Conn       struct{} // what a connection knows of its peer
	Startup    struct{} // how a connection begins
	RSockets   struct{} // both ways of a connection that speaks rsockets
	Writer     struct{} // the one Write of a byte stream that is under way
	Plain      struct{} // the one Read, or the one Write, of TCP mode that is under way
	Token      struct{} // the transmit token
	Poster     struct{} // what a connection on a device posts
	Device     struct{} // a connection on a device
	Borrowed   struct{} // waiting for the transmit token to take a payload back
	ByteStream struct{} // a byte stream's way out
	Inbox      struct{} // what has come and is not read
	Life       struct{} // the state of a connection in DDP mode, and why it ends
	ReadBound  struct{} // how long receiving goes on
	Doorbells  struct{} // what waits for the consumers of a completion queue
	Regions    struct{} // the Regions that a connection has registered
	Door       struct{} // a Listener's half-open connections
	Crowd      struct{} // the places of a server's connections
	Idle       struct{} // the idle timeout of a connection
	Records    struct{} // what a Dialer remembers of fallbacks
	Live       struct{} // the sums of all connections
	Capture    struct{} // the Taps of a connection
	Trace      struct{} // the events that the handler of a trace has not got
	Signal     struct{} // a condition that many wait for
	Deadline   struct{} // a deadline of Read or Write
)

// Of rdmap.
type (
	PostRecv    struct{} // a receive between its place in the QP and that in DDP's queue
	QP          struct{} // a queue pair
	SharedQueue struct{} // a shared receive queue
	Completions struct{} // a completion queue
)

// Of ddp.
type (
	Windows struct{} // the windows of a Region
	Region  struct{} // a Region's memory; held for reading while octets are copied
	Queue   struct{} // an untagged queue, and the copies into its buffers
	Domain  struct{} // the STags of a Protection Domain
	Keys    struct{} // where STags are drawn from
)

// Of toe.
type (
	Network   struct{} // the addresses of the simulator
	Buffered  struct{} // a send buffer above a net.Conn
	Simulator struct{} // a connection of the simulator
	Stack     struct{} // what a user-space TCP begins, until it is closed
	UserTCP   struct{} // who waits for a connection or a Listener of the user-space TCP
	Tap       struct{} // the connections that the tap of the user-space TCP knows
	Flow      struct{} // what the tap knows of a connection
	Packets   struct{} // the packets on a link in memory
	Watch     struct{} // the watch of a socket of the kernel
	Watcher   struct{} // the sockets of the process that are watched
)
