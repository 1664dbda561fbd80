// Peers measures rddp next to other software that moves the same bytes over TCP: UCX, libfabric,
// iperf3, and plain TCP in Go. `make bench-peers` runs it, and docs/performance.md has the results.
//
// # How it measures
//
//   - A contender is a program with an operation, such as `rddp perf` with RDMA Writes, or
//     ucx_perftest with ucp_put_bw. A series is one figure of a contender. Plain TCP is a series of
//     `rddp perf`, which runs it next to each operation.
//   - A round takes the sizes one after the other. For each size it takes the operations one after
//     the other, and for each operation it runs every contender once. Each round begins with a
//     different contender, and every second round goes backwards.
//   - The ratio of two series is taken within each round. The tables have the median of the rounds,
//     with the lowest and the highest round.
//   - Before its first run with a size, a contender whose number of operations is an argument runs
//     a few times until that number takes about the time of a run.
//   - Contenders use TCP over 127.0.0.1 with the congestion control and the buffers of the system,
//     because UCX and libfabric offer no choice.
//
// # Processes
//
// Each run has a deadline and two processes, a server and a client. A run that fails to end is
// killed, and nothing else is ever killed. A tool that accepts port 0 listens at a port of the
// kernel's choice, which this program finds in /proc. For the others the kernel chooses a port for
// a socket of this program. That socket never listens, and keeps the port reserved until the run is
// over.
package main
