// Package bytestream makes a byte stream of the Sends between two rddp ends. It is the layer
// between Read and Write above and rdmap below. It is pure: it starts no goroutine, takes no lock,
// does no I/O and reads no clock; a duration is an argument. The driver of a connection passes
// events to it and carries out its decisions. Package device does the same for a connection on a
// device; below, it is a driver too.
//
// A Sender is the state of the way out, and a Receiver is the state of the way in. Neither knows
// the other:
//
//	Append, Post, Finish ──▶ Sender ──Next──▶ Work Request for the queue pair
//	              Completed ──▶ │
//	   Credit, Granted, ──▶ │     from what the Receiver found in a message of the peer's
//	   Answer, Freed
//
//	      Arrived, Placed ──▶ Receiver ──▶ Arrival: data, credits, an offer, a grant, the end
//
// The driver drains the Sender after each input, as it drains a queue pair:
//
//	for tx.Next(&wr) {
//		if qp.PostSend(&wr) != nil {
//			tx.Full() // until the next Completed
//			break
//		}
//		tx.Posted()
//	}
//
// A return value says what a Write has to wait for. Waiting, waking and deadlines are left to the
// driver, and so is the memory for unread data.
//
// # Rules
//
// Header describes the messages. Each message uses one credit and therefore one buffer of the peer.
// The Receiver counts the credits of the peer: the initial ones, and the ones that the Sender has
// given back since then, which the driver passes on (GivenBack, GaveBack). A message without a
// credit ends the stream. Messages whose buffers stay in use until the peer's program reads leave
// Reserve credits. These are for grants and for messages that carry nothing but credits, which
// would otherwise be stuck behind data just when they are needed. A message that carries only
// credits is sent when half of the window is owed, or when two of the buffers owed held such
// messages, because the peer has no more than two credits for them. The end of the stream, when it
// comes alone, and the one cancel that there may be have buffers of their own (ExtraBuffers) and
// use no credit. conformance/models/credits.pml shows that the two ends cannot deadlock.
//
// # Another profile
//
// Package rsockets is the byte stream of librdmacm, which is laid out differently on the wire. It
// has a Sender and a Receiver of its own, with other methods, and it is not the driver that runs
// them: package extsock does, above a driver in message mode.
//
// # Ownership
//
// Post keeps the Write's memory until the Write is over (see Write) or detached. Append copies. A
// chunk that Next gives out in a Work Request goes back to its pool when Completed gets the
// Completion. Arrived keeps nothing.
package bytestream
