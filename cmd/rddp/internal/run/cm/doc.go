// Package cm implements rdma_cm: it connects queue pairs by address and port, for programs that use
// librdmacm.
//
// A program opens a Channel and creates ids on it. An id is a listener, or one end of a past,
// present or future connection. A command changes the state of an id at once, or begins a change
// whose result is an event on the channel. Commands never wait for a peer.
//
// # On the wire
//
// Connections run over TCP. MPA's Request and Reply serve as the connection manager's messages and
// carry the private data of the two programs. Package conn does the MPA startup. There are two
// kinds of connection, and the initiator chooses:
//
//   - iWARP: the Request contains only the program's private data, and the connection carries plain
//     RDMAP. IRD and ORD are the numbers of Reads that the programs have requested. Every iWARP
//     device understands this.
//   - joined: a greeting before the private data says that the Request comes from the device of an
//     rddp run, and the program's parameters follow the private data. The connection carries the
//     frames of package softrnic, so the two queue pairs behave as if ibv_modify_qp had connected
//     them.
//
// The ids of an RNIC have TCP's port numbers. Those of the joined device have numbers of their own:
// see number.go for how they are claimed, and find.go for how a peer finds a listener.
//
// A listener does not know the PD, because the program makes the queue pair after it has seen the
// Request. So the Responder chooses its Domain and depths at that time. The accepting end decides
// the depths of both ends. So the connecting end announces the device's largest IRD, and the sender
// itself respects max_rd_atomic. The kind of the device is an option, because a program reads it
// before it shows whether it will use rdma_cm.
//
// # Trust
//
// A program may pass any number as an id, in any state: it gets the error that the kernel would
// return. A peer may send any Request: a malformed one is refused before the program sees it.
package cm
