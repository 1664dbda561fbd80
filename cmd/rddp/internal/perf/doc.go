// Package perf is the measuring part of `rddp perf`: throughput, latency, message rate and
// processor time of each operation of rddp, next to plain TCP in the same run.
//
// # How it measures
//
// [Run] opens control and data connections to one or more servers ([Server]). A job is an operation
// with a size, a depth, a way of posting, and CRC on or off. Each job has a reference: the job of
// plain TCP that a program without RDMA would use for the same bytes.
//
//   - Each round runs each job once, and each job directly before or after its reference. Every
//     second round runs them in the opposite order. The ratio of a job compares it with the run of
//     its reference beside it. The results are medians over the rounds.
//   - The number of operations in a run is fixed before the first round, so that a run takes about
//     Options.Time. A run ends when the passive end has received everything.
//   - All connections get the same congestion control and buffer sizes, and their data walk through
//     the same amount of memory at both ends (Options.Ring). Successive operations use successive
//     places, so with a ring larger than the caches the data are cold. The congestion control is
//     set before a connection begins, because bbr leaves a timer behind.
//   - Plain TCP is used well: the receiver of a bulk run asks for at least 64 KiB in each Read.
//   - Processor time is that of the whole processes, user and system, during the run. The servers
//     report theirs over the control connection.
//   - With Options.OneCPU all threads of the processes run on one CPU. Such figures are the work
//     per byte, without wake-ups across CPUs, and repeat best.
//   - Otherwise, a round is repeated if a cache line takes several times as long from one CPU to
//     another as it did at best: the hypervisor had put the virtual CPUs on cores that share no
//     cache.
//
// # References
//
// Echoes, atomics, and Reads one by one are compared with request and answer over TCP. Everything
// else is compared with TCP's throughput, one Write for each operation.
//
// # Loads
//
// The loads are those of the SDP study. With LoadMultiStream and LoadFanOut this end is active, and
// with LoadFanIn and LoadHotSpot the servers are. Connections are spread over the servers in turn,
// and each connection has a goroutine of its own at each end.
//
// # Scale
//
// With Options.Scale, each round opens all connections of one kind, one after another, lets them
// wait while the memory of all processes is measured, runs the jobs of that kind, and closes them.
// Plain TCP has its turn in each round. So the connections of different kinds never exist at the
// same time: 10,000 of them need 10,000 files in a process. An [Idle] has the time to open a
// connection, in DDP mode from the start (StartupRequire) or over plain TCP, and the memory of a
// connection that waits.
//
// # Report
//
// A [Report] is text or JSON, one object per line. The first one has the date, the machine and the
// settings, and each has its kind in a field. The program conformance/lab/figures draws plots of
// them.
//
// # TLS
//
// With TLS it is under all connections: under those of plain TCP too, so that a ratio compares DDP
// over TLS with TLS over TCP.
//
// # Limits
//
// Every step has a deadline, and each count a limit. A Server does what any client asks for within
// those limits, which includes pinning its process; run it only where you trust every host.
package perf
