// Package device is an RDMA device without hardware. It has the objects of verbs (protection
// domains, memory regions, completion queues, queue pairs and so on) for programs in other
// processes, and it is the RNIC of these programs: it takes work requests from the rings that it
// shares with them, moves data from and to their memory, and writes completions.
//
// Nothing in it knows how the commands of a program arrive, or how its memory is reached: see
// Caller and Process. So a test can use a device without another process.
//
// # On the wire
//
// Two queue pairs that a program has joined with nothing but (GID, QPN) have a connection of
// package extsock, in message mode, between their devices. A QPN has the TCP port of its protection
// domain in its upper 16 bits, so it is an address. The queue pair with the lower (GID, QPN) dials.
// The private data of the MPA Request and Reply is a hello. See door.go for who may join a queue pair, and self.go for one
// that is joined with itself.
//
// An RDMA Write, Read or atomic is RDMAP's own, and the peer's program has no part in it. Everything
// else is a frame, one RDMAP Send: see frame. Verbs promise more than RDMAP in three points, and
// the frames make up for that:
//
//   - The completion of a Write or a Send means that the data is in the peer's memory. A frame can
//     ask for an acknowledgement of everything before it.
//   - A Send waits until the peer has posted a receive. The device takes the frames from the
//     connection and holds them, so what comes behind them does not wait. Their number and length
//     are limited: the sender keeps a window.
//   - Immediate data belongs to a Send or a Write.
//
// A connection manager can connect two queue pairs instead: see Pair. The connection then has frames,
// or is plain RDMAP, for peers that are not devices of this package: see plain.go.
//
// # Trust
//
// The program may write anything into its rings, pass anything as a handle, and end at any moment.
// It then loses its own work, and the device goes on. A peer may send any frame; a frame that is
// wrong ends its connection.
package device
