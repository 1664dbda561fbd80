// Package simtoe is a deterministic in-memory TCP for tests. It is a toe.Backend whose splits,
// delays, early runs and cuts follow from a seed, while those of a network are random.
//
// A connection has two halves, one for each direction. The [Config] of the sending side describes
// each half: how it splits the bytes into runs, delays them, shows some of them early, and cuts the
// connection at an exact byte. [Pair] makes one connection. [New] makes a network in which programs
// dial and listen.
//
// # Determinism
//
// The ends of the runs, and which runs are shown early, depend only on Seed and on the position in
// the stream. They depend neither on how the bytes were written nor on time. If only part of a run
// has arrived, a reader gets that part first. So if one goroutine makes the same sequence of calls,
// it gets the same sequence of ReadSegment results.
//
// # Early runs
//
// With Config.Early, ReadSegment also shows runs that follow a gap, like an engine that sees TCP
// segments arrive out of order. The same bytes arrive again in order. Read and Pending ignore early
// runs.
//
// # Time
//
// A half starts no goroutine and waits only with sync.Cond and package time. So connections work in
// a testing/synctest bubble, where delays and deadlines take no real time. They must be made inside
// the bubble. Outside a bubble, Delay is real time.
//
// Config.Timing lets another package say when bytes arrive. Package conformance/lab/pipeline
// simulates a protocol offload engine, and its Line is such a Timing.
//
// # Limits
//
// There is one lock per connection. After the peer's Close a write fails at once with EPIPE; a real
// TCP would send the bytes and then be reset. A writer that waits because the window is full
// continues when half of the window is free, as with sockets.
package simtoe
