// Cache is a study: what does it cost to keep a cache of dynamic pages strongly coherent, if a
// proxy asks the back end on every hit whether its page is still current? `make study-cache` runs
// it, and docs/studies/cache.md has the results.
//
// # Parts
//
// The back end is a process with a version counter for each page. It makes pages, which costs
// processor time, and updates them, which adds one to a counter. Its program may also be busy: a
// number of goroutines compute and never wait. The proxies are another process. Each proxy has a
// cache, and clients that issue one operation after the other: an update with the given
// probability, and otherwise a request. Pages are chosen by Zipf's law. The process prints its
// figures as JSON.
//
// Pages and updates go over plain TCP for every contender. The contenders differ in how a proxy
// learns the version of a page that it has: by asking over TCP, by asking over an extended socket's
// byte stream, by an RDMA Read of the counter, or not at all.
//
// For the contender "RDMA Read, rddp run" the back end is under "rddp run --iwarp", whose device
// serves the RDMA Reads: a separate process, on the CPU of the back end. All others are served in
// the back end's own process.
//
// # Staleness
//
// A response is stale if its version is lower than one whose update was acknowledged, to any client
// of any proxy, before the request began. All clients are in one process, so a ledger of
// acknowledged versions decides this exactly: a client looks up the version of its page before it
// asks, and compares it with the one in the response. The page itself shows its version, so that a
// proxy cannot serve one version and report another.
package main
