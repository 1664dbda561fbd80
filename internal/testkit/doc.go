// Package testkit describes the packages below it, which the tests of more than one package use. No
// product package imports them. They are:
//
// For any test:
//
//   - testmode: whether the race detector is on, short and full runs, shares of CI.
//   - prototest: waiting for a condition; tests that no longer make progress; ports; goroutines and
//     descriptors that are left; lossy links; segments as bytes; random numbers from a seed.
//   - every: runs a test once for each combination of its choices.
//   - nopanic: makes a test binary fail if a connection has panicked.
//
// For a peer:
//
//   - rawpeer: a peer over a plain connection, to send what rddp would not send.
//   - scenario: sessions of two correct ends that use all operations, over any TCP, and checks of
//     the result.
//   - tcptest: plain TCP clients and services, for tests of a proxy.
//   - rsockpeer: a program in C that uses librdmacm's rsockets, and the other end of its
//     connections.
//   - conformance/spec and conformance/specpeer: encoders that share no code with the layers, and a
//     peer made of them. The command `rddp spec` uses them too.
//
// For a device:
//
//   - devicetest: an RDMA device in memory, for an engine that uses a device.
//   - guest: a program in Go that uses verbs and rdma_cm, with its own definitions of the kernel's
//     interface, for the RNIC of `rddp run`.
//   - timeline: checks the timelines of `rddp run --trace`.
//
// The tests for a TCP are public, in toe/toetest, since another module may implement one.
package testkit
