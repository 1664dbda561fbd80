// Package foreign runs other projects' test suites over extended sockets.
//
// The package itself is empty: everything is in its tests, which have the build tag foreign. `make foreign` runs all suites,
// `make foreignquick` those that are quick, as a part of `make check`.
//
// # How a suite runs
//
// The sources of a suite are fetched at test time: by `go mod download` at the version that the table of suites names, or from
// GOROOT. They are copied to a temporary module, and in the copy each import of package net becomes an import of foreign.test/net. That is a
// generated package with all the names of package net. Those that make TCP connections (Dial, Listen, Dialer, TCPConn and so on) come from
// the package conformance/foreign/standin, all others are package net's own. Nothing else in the suite changes. The tests of
// package net itself are the exception: goNetChanges lists what has to be changed in them, and why.
//
// Each suite is compiled twice, with package net's TCP and with the stand-in, and runs in five columns:
//
//	tcp      package net's own TCP connections
//	extsock  extended sockets in TCP mode
//	prefer   Config.Startup is StartupPrefer on both sides
//	require  Config.Startup is StartupRequire on both sides
//	in-band  both ends call EnableDDP, the dialing end in Dial and the accepting end in the listener
//
// In the columns prefer and require nobody calls Handshake: a connection does its startup by itself.
//
// # How to read the table
//
// A cell is passed/failed and the time. A test with subtests counts as one more than its subtests, and a test that runs 20 times counts 20 times.
// Below that, "ddp" and "plain" say how many of the connections that the suite dialed were in DDP mode, or fell back to plain TCP, when Dial returned.
//
// A column is compared with the column tcp test by test. A test that passes less often than over TCP fails the run, unless the
// table of exceptions has a reason for it; an exception whose test passes fails the run too. A test that fails over TCP as well,
// for example because the machine has no IPv6, is only counted. So does a column fail that should use DDP mode and has no connection in it.
//
// A test that panics or hangs ends its program. It counts as failed, and the program starts again without the tests that have run. The output, with
// the stacks of the goroutines, is in a folder whose name the run prints; it is removed if all is well.
package foreign
