// Package foreign runs other projects' test suites over extended sockets.
//
// The package itself is empty: everything is in its tests, which have the build tag foreign.
// `make foreign` runs all suites, `make foreignquick`, which is a part of `make check`, the quick ones.
//
// # How a suite runs
//
// The sources of a suite are fetched at test time: by `go mod download` at the version that the
// table of suites names, or from GOROOT. They are copied to a temporary module, and in the copy
// each import of package net becomes an import of foreign.test/net. That is a generated package
// with all the names of package net. Those that make TCP connections (Dial, Listen, Dialer, TCPConn
// and so on) come from the package conformance/foreign/standin, all others are package net's own.
// Nothing else in the suite changes. The tests of package net itself are the exception:
// goNetChanges lists what has to be changed in them, and why.
//
// Each suite is compiled twice, with package net's TCP and with the stand-in, and runs in five
// columns:
//
//	tcp      package net's own TCP connections
//	extsock  extended sockets in TCP mode
//	prefer   Config.Startup is StartupPrefer on both sides
//	require  Config.Startup is StartupRequire on both sides
//	in-band  both ends call EnableDDP, the dialing end in Dial and the accepting end in the listener
//
// In the columns prefer and require no code of the suite or of the stand-in calls Handshake: a Listener
// starts its connections up by itself.
//
// # How to read the table
//
// A cell says how many tests have passed and failed, and the time. Subtests count as tests, and a test
// that runs 20 times counts 20 times. The line below a suite's says how many of the connections that
// the suite dialed were in DDP mode when Dial returned ("ddp"), and how many had fallen back to plain
// TCP ("plain").
//
// If a test fails that is no exception, the suite runs again, at most twice, over TCP as well as in the
// other columns: many tests have time limits that a busy machine does not always meet. A test that
// passes then is counted as passed and named, and the cell says "again". A test that fails each time
// stays failed.
//
// Each column is compared with the column tcp, test by test. A run fails
//
//   - if a test passes less often in a column than over TCP, and is no exception,
//   - if an exception passes that is not marked as one that sometimes does,
//   - if a suite does not build, or runs no test,
//   - if no connection of a column with DDP mode was in DDP mode,
//   - if a panic has ended a connection.
//
// A test that also fails over TCP, for example because the machine has no IPv6, is counted and no
// more. The exceptions and their reasons are in exceptions_test.go, the tests that a suite leaves out
// in the table of suites and, for those of package net, in goNetLeftOut.
//
// A test that panics or hangs ends its process. It counts as failed, and the others run in another
// process. The output of the suites, with the stacks of all goroutines in such a case, is in a folder
// whose name the run prints. The run removes the folder if it passes.
package foreign
