// Package cm is rdma_cm: it connects queue pairs by address and port, for programs that use
// librdmacm.
//
// A program opens a Channel, on which it has ids. An id is one end of a connection that is, was or
// will be, or a listener. Commands change the state of an id at once, or begin a change whose end
// is an event of the channel. Nothing in a command waits for a peer.
//
// # On the wire
//
// A connection is TCP, and MPA's Request and Reply are the connection manager's messages: the
// private data in them is that of the two programs. MPA startup is package extsock's. There are two
// kinds, and the initiator's counts:
//
//   - iWARP: the Request has nothing but the program's private data, and the connection carries
//     plain RDMAP. IRD and ORD are the numbers of Reads that the programs have asked for. Every
//     iWARP device understands it.
//   - joined: the Request says that it comes from the device of an rddp run, with a greeting in
//     front of the private data, and has the program's parameters behind it. The connection carries
//     the frames of package device, so that the two queue pairs behave as if they had been joined
//     by ibv_modify_qp.
//
// A listener does not know the PD, since the program makes the queue pair after it has seen the
// Request. So the Responder chooses its Domain and depths then. The end that accepts decides the
// depths of both ends, so the IRD of the end that connects is the device's largest, and the sender
// keeps max_rd_atomic itself. The device's kind is an option and no guess, because a program reads
// it before it shows whether it will use rdma_cm.
//
// # Trust
//
// A program may pass any number as an id, in any state: it gets the error that the kernel would
// give. A peer may send any Request; one that is wrong is refused before the program hears of it.
package cm
