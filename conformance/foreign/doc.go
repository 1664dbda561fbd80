// Package foreign runs other projects' test suites over extended sockets.
//
// The package itself is empty: its tests do everything, and they have the build tag foreign. `make
// foreign` runs all suites. `make foreignquick`, which is part of `make wild`, runs the quick
// suites. As root on Debian both first install the server that a suite needs.
//
// # How a suite runs
//
// The sources of a suite are fetched at test time: by `go mod download` at the version in the table
// of suites, or from GOROOT. They are copied to a temporary module. In the copy each import of
// package net becomes an import of foreign.test/net, a generated package with all the names of
// package net. The names that make TCP connections (Dial, Listen, Dialer, TCPConn and so on) come
// from the package conformance/foreign/standin, and so does Buffers, whose WriteTo is one Write;
// all other names are those of package net. The same is done to package crypto/tls, for its
// functions Dial and Listen and its Dialer. Nothing else in the suite changes. The tests of package
// net itself are the exception: goNetChanges lists the necessary changes, and the reasons.
//
// If a suite makes connections with other packages or modules, such as net/http, the table of
// suites names them, and they are copied in the same way. A package of Go's tree may need packages
// that are internal to that tree. Then the suite is compiled in a tree of links to Go's own, which
// adds a package foreign/x with the names of internal/x.
//
// The suites of a database driver and of a Redis client need a server. Package foreign starts
// Debian's at a Unix socket in a temporary folder. The tests connect to a relay in front of it, in
// every column. The connections between the tests and the relay begin as the column says, so the
// client and its pool use extended sockets, and the server sees plain byte streams.
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
// In the columns prefer and require, neither the suite nor the stand-in calls Handshake: a Listener
// runs startup itself.
//
// # How to read the table
//
// A cell says how many tests passed and failed, and how long they took. Subtests and the specs of
// Ginkgo count as tests, and a test that runs 20 times counts 20 times. The line below a suite says
// how many of the connections that the suite dialed were in DDP mode when Dial returned ("ddp"),
// and how many had fallen back to plain TCP ("plain").
//
// If a test fails that is not an exception, the suite runs again, at most twice, over TCP and in
// the other columns. Many tests have time limits that a busy machine does not always meet. A test
// that passes in such a run counts as passed. The run names it, and its cell says "again". A test
// that fails each time counts as failed.
//
// Each column is compared with the column tcp, test by test. A run fails
//
//   - if a test that is not an exception passes less often in a column than over TCP,
//   - if an exception passes and is not marked as one that sometimes passes,
//   - if a suite does not build, or runs no test,
//   - if no connection of a column with DDP mode was in DDP mode,
//   - if a panic has ended a connection.
//
// A test that also fails over TCP, for example because the machine has no IPv6, is only counted.
// The exceptions and their reasons are in exceptions_test.go. The table of suites says which tests
// a suite leaves out; for package net, goNetLeftOut does.
//
// A test that panics or hangs ends its process. It counts as failed, and the other tests run in
// another process. The run prints the name of a folder that holds the output of the suites; after a
// panic or a hang, the output includes the stacks of all goroutines. If the run passes, it removes
// the folder.
package foreign
