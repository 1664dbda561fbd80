// Package spec tests an iWARP peer over plain TCP. It sends exact bytes and judges the exact bytes
// that come back, as MPA Initiator and as MPA Responder.
//
// A [Case] is one question about a requirement of an RFC. [Run] asks the peer all questions that
// fit its role, each on its own connections. [Report] prints the answers as text, JSON or JUnit.
//
// The package has its own encoders. It does not use those of packages mpa, ddp and rdmap, because
// they must not judge themselves. It uses these packages only for the words of a Terminate and,
// through package dissect, to show what was sent and received.
//
// # The peer
//
// conformance/SPEC.md is the contract for the peer's program. The contract is small: accept
// connections, send each message back, and describe its memory in a [Record] at the beginning of
// its MPA Private Data.
//
// # Limits
//
// Every read and write has the deadline of its case. A case keeps 64 KiB of each direction for its
// report, and ends when the peer has sent more than 4 MiB. Run uses one goroutine.
package spec
