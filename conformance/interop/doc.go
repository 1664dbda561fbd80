// Package interop holds the tests of this stack against a foreign one: siw, the software iWARP driver of
// the Linux kernel.
//
// siw runs in a QEMU guest that the package builds, boots and ends by itself: [Start] gives a test the
// guest of this test run, [Boot] one of its own. In the guest run ordinary programs (Guest.Run,
// Guest.StartProcess) and siwpeer (Guest.Peer), a scripted verbs peer that does what a test tells it, line
// by line, and reports what it saw: completions, events, memory. TCP connections work both ways: a server
// in the guest is reached through Guest.Forward, one on the host's 127.0.0.1 through [HostAddr].
//
// Everything but this file has the build tag interop. The tests need a Debian system with Go and apt, and
// root as long as packages are missing; without QEMU or siw they fail, they never skip:
//
//	go test -tags interop ./conformance/interop/
//
// The tests of a run share one guest and its siw parameters, so they do not run in parallel.
// README.md tells how the guest is made, the commands of siwpeer, and how siw behaves.
package interop
