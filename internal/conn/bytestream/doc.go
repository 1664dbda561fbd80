// Package bytestream is the byte stream that two rddp ends make of Sends: the layer between Write
// and Read above it and rdmap below it. It is pure. It starts no goroutine, takes no lock, does no
// I/O and reads no clock; a duration is an argument. The driver of a connection gives it what
// happens and carries out what it answers.
//
// A Sender is the state of the way out, a Receiver the state of the way in. Neither knows the
// other:
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
// What a Write has to wait for is a return value. Waiting, waking and deadlines are the driver's
// business, as is the memory for unread data: this package decides, and the driver's inbox holds.
//
// # Rules
//
// Header describes the messages. Each message uses one credit and therefore one buffer of the peer.
// The Receiver counts the credits of the peer: those of the start, and those that the Sender has
// given back since then, which the driver passes on (GivenBack, GaveBack). A message without a
// credit ends the stream.
// Messages whose buffers stay in use until the peer's program reads leave Reserve credits. These
// are for grants and for messages that carry nothing but credits, which would otherwise be stuck
// behind data just when they are needed. A message that carries only credits is sent when half of
// the window is owed, or when two of the buffers owed held such messages, because the peer has no
// more than two credits for them. The end of the stream, when it comes alone, and the one cancel
// that there may be have buffers of their own (ExtraBuffers) and use no credit.
// conformance/models/credits.pml shows that this cannot come to a standstill; the fields of Sender
// and Receiver have the model's names.
//
// # Another profile
//
// A stream that is laid out differently on the wire, such as rsockets with its RDMA Writes and
// Immediate Data, is a second Sender and a second Receiver with the methods of these two: the
// driver sees Work Requests, Completions and Arrivals, and no header. Window and Choice do not
// depend on the wire. The driver names both types in one place each, in the struct that guards
// them; an interface goes there when there are two.
//
// # Ownership
//
// Post keeps the Write's memory until the Write is over (see Write) or detached. Append copies. A
// chunk that Next gives out in a Work Request goes back to its pool when Completed hears of it.
// Arrived keeps nothing.
package bytestream
