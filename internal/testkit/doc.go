// Package testkit is the page of the folders below it, which hold what the tests of more than one
// package use. No product package imports them. Which one to take:
//
// For any test:
//
//   - testmode: whether the race detector runs, short and full runs, shares of CI.
//   - prototest: the main function of a package's tests, which looks for goroutines that are left;
//     waiting for a condition; ports; other programs as processes; checks of sockets; sequences of
//     random numbers from a seed.
//   - every: choices of a test that are tried in every combination.
//   - nopanic: importing it lets a panic of a connection end the process, and so the test.
//
// For a peer:
//
//   - rawpeer: the other end of a connection as bytes, for what no rddp end would send.
//   - scenario: what two well-behaved ends do with all operations, over any TCP, and what must be
//     true afterwards.
//   - tcptest: plain TCP clients and services, for tests of a proxy.
//   - rsockpeer: a program in C that uses librdmacm's rsockets, and the other end for it.
//   - conformance/spec and conformance/specpeer stand with the RFCs: encoders that share no code
//     with the layers, and a peer made of them, which the command `rddp spec` uses, too.
//
// For a device:
//
//   - devicetest: an RDMA device in memory, for an engine that uses one.
//   - guest: a program of verbs and of rdma_cm in Go, with its own view of the kernel's interface,
//     for the RNIC of `rddp run`.
//
// A program outside this module may write a TCP of its own. So the judge of a TCP is public:
// toe/toetest.
package testkit
