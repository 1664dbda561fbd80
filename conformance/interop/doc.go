// Package interop tests this stack against siw, the software iWARP driver of the Linux kernel.
//
// siw runs in a QEMU guest, which the package builds, boots and ends. [Start] gives a test the
// guest of this test run; [Boot] gives it a guest of its own. The guest runs ordinary programs
// (Guest.Run, Guest.StartProcess) and siwpeer (Guest.Peer). siwpeer is a scripted verbs peer: it
// does what a test tells it, line by line, and reports what it saw: completions, events and memory.
// TCP connections work in both directions. A test reaches a server in the guest through
// Guest.Forward, and the guest reaches a server on the host's 127.0.0.1 at [HostIP].
//
// Everything except this file and the program socketpeer has the build tag interop. The tests need
// a Debian system with Go and apt, and they need root while packages are missing. Without QEMU or
// siw they fail; they never skip:
//
//	go test -tags interop ./conformance/interop/
//
// The tests of a run share one guest and its siw parameters, so they do not run in parallel.
// README.md describes how the guest is made, the commands of siwpeer, and how siw behaves.
package interop
