// Package specpeer is the peer that package spec asks its questions, made of package extsock: it keeps the contract of
// conformance/SPEC.md. It echoes messages and lends memory, and does nothing else, so that what is put to the test is the
// stack below it.
//
// [Peer.Serve] is the peer that listens, [Peer.Dial] the one that dials again and again.
package specpeer
