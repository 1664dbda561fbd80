// Package rddp is the root of a user-space iWARP stack: RDMA over plain TCP, in Go.
//
// It holds no code. The packages, from the application down to the wire:
//
//	extsock  the extended socket: a net.Conn that a program can switch into DDP mode
//	rdmap    RDMAP (RFC 5040, RFC 7306): operations, queue pairs, completions, Terminate
//	ddp      DDP (RFC 5041): segments, registered memory, placement and delivery
//	mpa      MPA (RFC 5044, RFC 6581): startup, framing with Markers and CRC, errors
//	toe      the TCP under it all: kernel TCP, a simulator, any net.Conn
//
// Data flows one way through them. On the way down a Work Request becomes a Message, a Message
// becomes Segments, a Segment becomes an FPDU, and many FPDUs become one Batch that is written
// with a single call. On the way up the stream's bytes become verified ULPDUs, ULPDUs are placed
// in their final memory, and messages are delivered in stream order.
//
// The layers do no I/O. The one place where all of them meet is package internal/conn/driver. To
// use the library, start with README.md and PORTING.md. To change it, read DESIGN.md first, then
// driver.go, receive.go and transmit.go of that package.
package rddp
