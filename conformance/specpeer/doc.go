// Package specpeer is the peer that package spec asks its questions, built on package extsock. It
// follows the contract of conformance/SPEC.md. It echoes messages, lends memory and does nothing
// else, so the questions test the stack below it.
//
// [Peer.Serve] is the peer that listens. [Peer.Dial] is the peer that dials again and again.
package specpeer
