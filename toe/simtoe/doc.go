// Package simtoe is a deterministic in-memory TCP for tests: a toe.Backend that
// does from a seed what networks do by chance.
//
// A connection has two halves, one for each direction, and each half does to
// the octets what the [Config] of the sending side says: it splits them into
// runs, delays them, shows some of them early, cuts the connection at an exact
// octet. [Pair] makes one connection, [New] a network to dial and listen in.
//
// # Determinism
//
// Where runs begin and end, and which of them are shown early, depends on Seed
// and on the position in the stream only: not on how the octets were written,
// nor on time. A reader that finds half a run gets that half first, so the
// sequence of ReadSegment results is the same for the same sequence of calls,
// as one goroutine makes them.
//
// # Early runs
//
// With Config.Early, ReadSegment also shows runs from behind a gap, as an engine
// does that sees TCP segments arrive out of order. The same octets come again in
// order. Read and Pending know nothing of early runs.
//
// # Time
//
// A half starts no goroutine and waits only with sync.Cond and package time, so
// connections work in a testing/synctest bubble, where delays and deadlines
// cost nothing; make them inside the bubble. Outside, Delay is real time.
//
// # Limits
//
// There is one lock per connection. After the peer's Close a write fails at once
// with EPIPE, where a real TCP would send it and be reset. A writer who waits
// because the window is full goes on when half of it is free, as with sockets.
package simtoe
