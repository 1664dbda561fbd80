// Package startup begins a connection: it brings it from its first byte to DDP mode, or to plain
// TCP.
//
// A [Handshake] is the startup of one connection. It holds one [Phase] and changes it along the
// arrows of the drawing there. It knows a toe.Stream, the two frames of MPA startup (RFC 5044 §7.1,
// RFC 6581), and its own rules. It knows no socket and no driver, starts no goroutine, and calls
// nothing above it but a [Tap], which sees the frames as they pass. What it finds it returns:
//
//   - plain TCP, with the bytes that were read ahead, which Read gives out first, and a [Fallback]
//     that says why;
//   - DDP mode, with the [Peer]: the mpa.Agreement, the peer's capability record and its program's
//     private data;
//   - a rejection, an *mpa.RejectError, after which the connection is plain TCP again;
//   - or an error, after which the connection is of no use.
//
// # How it is driven
//
// Each call of a program that uses the connection begins with Enter, which says whether the
// connection is in TCP mode or in DDP mode, or that the call must wait. If startup is due, Enter
// begins it, and the caller must start a goroutine that runs it:
//
//	accepting    Sniff, if both kinds of peers are welcome; ReceiveRequest; Delay; Ask
//	             Answer, then Accept or Reject
//	dialing      Initiate
//	either       Switched, once the driver has the stream, or NotSwitched
//
// A program that begins startup by a call of its own uses Begin instead of Enter. A Listener uses
// BeginForListener; its startup goes on after Close, so that the peer finds a connection that was
// accepted and closed, as over TCP.
//
// # Waiting for the peer
//
// No method holds the Handshake's lock while it waits for the peer. Sniff, Initiate,
// ReceiveRequest, Accept and Reject read from the stream or write to it, and only the goroutine or
// call that runs startup calls them. They end when their context is done, when their time is over,
// when the stream is closed, or when the Listener evicts the connection; see [Door]. Sniff has
// deadlines of its own.
//
// # What else is here
//
// [Capabilities] is the record by which two rddp ends recognize each other. [Door] limits the
// half-open connections of a Listener, and delays addresses whose peers try STags. [Records] holds
// what a Dialer remembers of peers.
package startup
