// Package spec puts an iWARP peer to the test over plain TCP: it sends exact octets and judges the exact octets
// that come back, as MPA Initiator and as MPA Responder.
//
// A [Case] is one question about a requirement of an RFC. [Run] asks the peer all those that fit its part, each on
// connections of its own, and [Report] tells the answers as text, JSON or JUnit.
//
// The encoders here are not those of packages mpa, ddp and rdmap: what is judged must not be judged by itself. Those
// packages are used for the words of a Terminate and, by package dissect, to show what was sent and what came.
//
// # The peer
//
// What the peer's program has to do is the contract in conformance/SPEC.md. It is small: take connections, send each
// message back, and name its memory in a [Record] at the front of its MPA Private Data.
//
// # Limits
//
// Every read and write has the deadline of its case. A case keeps 64 KiB of each direction for its report, and ends
// when the peer has sent more than 4 MiB. One goroutine does it all.
package spec
