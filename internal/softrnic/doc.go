// Package softrnic is an RDMA device without hardware. It has the objects of verbs (protection
// domains, memory regions, completion queues, queue pairs and so on) for programs in other
// processes, and it is the RNIC of these programs: it takes work requests from the rings that it
// shares with them, moves data from and to their memory, and writes completions.
//
// It does not know how the commands of a program arrive, or how the program's memory is reached:
// see [Caller] and [Process]. So a test can use a device without another process.
//
// # On the wire
//
// Two queue pairs that a program has joined with nothing but (GID, QPN) have a connection of
// package conn, in message mode, between their devices. A QPN has the TCP port of its protection
// domain in its upper 16 bits, so it is an address. The queue pair with the lower (GID, QPN) dials.
// The private data of the MPA Request and Reply is a hello. See door.go for the peers that may join
// a queue pair, and self.go for one that is joined with itself.
//
// An RDMA Write, Read or atomic is RDMAP's own, and the peer's program has no part in it.
// Everything else is a frame, one RDMAP Send: see frame. Verbs promise more than RDMAP in three
// points, and the frames make up for that:
//
//   - The completion of a Write or a Send means that the data is in the peer's memory. A frame can
//     ask for an acknowledgement of everything before it.
//   - A Send waits until the peer has posted a receive. The device takes the frames from the
//     connection and holds them, so the messages behind them do not wait. Their number and length
//     are limited: the sender keeps a window.
//   - Immediate data belongs to a Send or a Write.
//
// A connection manager can connect two queue pairs instead: see Pair. The connection then has
// frames, or is plain RDMAP, for peers that are not devices of this package: see plain.go.
//
// # What decides, and what acts
//
// Values without lock, goroutine or clock decide what a queue pair does next:
//
//   - a life: its state for verbs, and how it is joined with its peer
//   - a sending: which piece of which work request goes out next
//   - an outgoing: work requests on their way, and frames that are not acknowledged
//   - an incoming: frames, or messages, that wait for receives
//   - an agenda: what is due when
//
// Their methods are the events. A method returns what its event leads to: a piece to post, or the
// steps of an end (see step). queuePair, sender, link, receiver and end do what the values say.
// They reach memory, post to the connection, complete, and keep time, under three locks of the
// queue pair: one for what it sends, one for what it receives, and one for its life and the work
// requests that are not complete. machine_test.go has two queue pairs of these values alone.
//
// # Why so
//
//   - A QPN is an address, so two devices need no daemon and no configuration. Each PD has a port
//     of its own, so an STag of one PD does not exist for the peers of another one.
//   - An acknowledgement is cumulative. A frame asks for one when the program waits for a
//     completion and posts nothing more, and after 32 work requests. Once a program has answered
//     eight messages in a row, the acknowledgement waits for the next answer (see due). Sent at
//     once, it took 35 of the 67 µs from a Write to its answer when program and device shared a
//     processor.
//   - Posting a receive makes no system call, so a timer looks for receives that come late, after
//     20 µs at first. After a millisecond one timer serves the whole context (see lookout): beside
//     1,000 queue pairs in ERR the device took 3 % of a processor, and 23 % with a timer for each.
//   - A lost peer is found by TCP's acknowledgements, while work requests are under way (see
//     vigil). TCP_USER_TIMEOUT counts only unacknowledged bytes, so it misses a Read whose request
//     has arrived, and it ends a connection whose peer has closed its window. Frames would not do
//     either: those behind a Send without a receive are not acknowledged.
//   - The end that is dialed asks the port of the QPN whether it dials (see door.go). With PSNs the
//     question would not be needed, but many programs use constant ones. With a connection from
//     that very port it would not be needed either, but two ports can have only one connection.
//   - A queue pair that is joined with itself has both ends of one connection. If its bytes came
//     back to the same end, there would be no other end to which a Terminate could report a
//     refusal.
//   - A place in the send queue is free once its entry is copied. Otherwise a queue of depth 1, as
//     in ibv_rc_pingpong, would seem full to a program that has seen the completion.
//   - A refusal is in order with the work requests in front of it. The device that refuses first
//     sends the answers that it owes, for at most Linger, and waits for receives of its program. It
//     waits only briefly if that program has work requests under way, because the program may post
//     receives only after them.
//   - UD is UDP with a header of its own, because iWARP has no datagrams. The completion says that
//     the header in front of the datagram is IPv4's: UCX 1.13 drops the datagram otherwise.
//
// # Trust
//
// The program may write anything into its rings, pass anything as a handle, and end at any moment.
// It then loses its own work, and the device goes on. A peer may send any frame; a frame that is
// wrong ends its connection.
package softrnic
