// Package perf implements the measurements of `rddp perf`: throughput, latency, message rate and
// processor time of each operation of rddp, next to plain TCP in the same run.
//
// # How it measures
//
// [Run] opens control and data connections to one or more servers ([Server]). A job is an operation
// with a size, a depth, a way of posting, and CRC on or off. Each job has a reference: the plain
// TCP job that a program without RDMA would use for the same bytes.
//
//   - Each round runs each job once, directly before or after its reference. Every second round
//     runs them in the opposite order. The ratio of a job compares it with the adjacent run of its
//     reference. The results are medians over the rounds.
//   - The number of operations in a run is fixed before the first round, so that a run takes about
//     Options.Time. A run ends when the passive end has received everything.
//   - All connections get the same congestion control and buffer sizes, and their data walks
//     through the same amount of memory at both ends (Options.Ring). Successive operations use
//     successive places, so with a ring larger than the caches the data is cold. The congestion
//     control is set before a connection begins, because bbr leaves a timer behind.
//   - Plain TCP is used efficiently: the receiver of a bulk run asks for at least 64 KiB in each
//     Read.
//   - Processor time is the user and system time of whole processes during the run. The servers
//     report theirs over the control connection. Its ratio to that of plain TCP, for one operation
//     at both ends, is the figure to trust on a machine with other work.
//   - With Options.OneCPU, all threads of the processes run on one CPU. Such figures show the work
//     per byte, without wake-ups across CPUs, and are the most reproducible.
//   - Otherwise, a round is repeated if passing a cache line between CPUs takes several times as
//     long as the best time: the hypervisor has then put the virtual CPUs on cores that share no
//     cache.
//
// # Pauses
//
// With Options.Pauses, the active end sleeps before each operation, as the client of a service that
// gets a request now and then. Only the jobs whose latency is measured have pauses. Their ratio to
// plain TCP is that of the median latencies, and their processor time includes what it costs to
// sleep. If nothing else happens in the process, a pause takes 1 ms at least: an idle runtime of Go
// waits in whole milliseconds.
//
// # The price of a page
//
// With Options.Cold, the report says what this machine takes to touch a page after a pause, and one
// of many pages. Figures of an echo after a pause, or beside many connections, cannot be compared
// between machines that differ in it.
//
// # References
//
// Echoes, atomics, and single Reads are compared with request and answer over TCP. Everything else
// is compared with the throughput of TCP, one Write for each operation.
//
// # Loads
//
// The loads are those of the SDP study. With LoadMultiStream and LoadFanOut this end is active, and
// with LoadFanIn and LoadHotSpot the servers are. Connections are spread over the servers in turn,
// and each connection has a goroutine of its own at each end.
//
// # Scale
//
// With Options.Scale, each round opens all connections of one kind, one after another, leaves them
// idle while the memory of all processes is measured, runs the jobs of that kind, and closes them.
// Each round includes plain TCP. Connections of different kinds never exist at the same time,
// because 10,000 of them need 10,000 files in a process. An [Idle] contains the time to open a
// connection, in DDP mode from the start (StartupRequire) or over plain TCP, and the memory of an
// idle connection.
//
// # Report
//
// A [Report] is written as text or as JSON, one object per line. The first object contains the
// date, the machine and the settings. Each object has its kind in a field. The program
// conformance/lab/figures plots the results.
//
// # TLS
//
// TLS, if configured, is under all connections, including plain TCP, so a ratio compares DDP over
// TLS with TLS over TCP.
//
// # Limits
//
// Every step has a deadline, and every count a limit. Within these limits, a Server does what any
// client asks for, including pinning its process; run it only where you trust every host.
package perf
