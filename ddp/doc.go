// Package ddp implements the Direct Data Placement protocol of RFC 5041. It carries messages in
// segments. Each segment says where in the peer's memory its payload goes, and the package makes
// sure that the payload goes nowhere else.
//
// # For whom
//
//   - Programs that use connections of package extsock: the rights of [Access], perhaps a [Domain]
//     with its Regions, and the errors [Error] and [AccessError] with their [Code].
//   - The layer above, which is RDMAP or another: [Sender], [Receiver], [Queue], [Message] and
//     [Segment].
//   - Programs that read or build single segments, such as capture tools: [TaggedHeader] and
//     [UntaggedHeader]. AppendTo writes reserved bits as zero, and [ParseTagged] and
//     [ParseUntagged] ignore them. The two parsers keep no reference to their argument, but the
//     rest that they return aliases it.
//
// The package lies between RDMAP, which gives messages a meaning, and MPA, which carries segments
// over TCP, and depends on neither. It does no I/O, starts no goroutine and uses no clock.
//
// # Two kinds of buffers
//
// A Tagged Buffer is a [Region] of a [Domain]: memory that the application has registered, named on
// the wire by STag and TO. The peer chooses where in the Region a tagged message goes. An Untagged
// Buffer is memory posted to a [Queue]. The MSN of a message is its number within its QN, and the
// k-th message of a QN goes to the k-th buffer posted. Instead of posting buffers in advance, the
// goroutine that receives can give each message its buffer when the message begins: see
// [Receiver.Bind].
//
// # Sending
//
// A [Sender] cuts a [Message] into Segments of at most MULPDU bytes. A Segment refers to the
// payload and does not copy it. If the payload of a Message is in a Region, the Sender reads it
// under the Region's lock, one Segment at a time. Such a Segment must be copied before its CRC is
// computed, because peers may write the Region meanwhile.
//
// # Receiving
//
// A [Receiver] accepts verified segments. To place a segment is to copy its payload to its final
// memory. To deliver a message is to report it to the layer above, once and in stream order.
//
// Place checks all of a segment before it writes the first byte, in this order:
//
//   - the version;
//   - the control byte of the ULP, which [ReceiverConfig].Admit checks;
//   - for a tagged segment STag, stream, right, wrap-around of the TO, and bounds;
//   - for an untagged segment QN, MSN, buffer, MO and length.
//
// The first segment that fails a check ends the stream, once all messages before it are delivered.
// The error is an [*Error] that carries RFC 5041's error number.
//
// The Receiver expects segments in order, so for each queue only the next MSN and MO are legal.
// TryPlace places a segment out of order, as a hint. The same stream with and without hints gives
// the same deliveries and, if nothing in the stream is wrong, the same memory. (The exception is
// memory that is registered twice, or both registered and posted. RFC 5042 §6.3.6 warns of it.)
//
// # Memory and its owners
//
// A Region's memory belongs to the application, but peers may read and write it at any time until
// [Region.Deregister] has returned. A posted buffer belongs to the Queue until its Message is
// delivered or [Queue.Flush] has returned. [Region.Window] gives a part of a Region an STag of its
// own, which can be revoked separately. [Domain.RegisterMemory] makes a Region of memory that this
// process cannot address. [Stream.Discard] ends what the peer of one stream writes and reads.
// Deregister, Discard and Flush wait for the copy in progress. No other call in this package waits
// for more than such a copy.
//
// Any goroutine may use Domains, Regions and Queues. A Sender belongs to one goroutine, and so does
// a Receiver. Sending or receiving a segment allocates no memory.
//
// # Limits
//
// A message has at most 2^32-1 bytes. A Region of another Domain is reported as an invalid STag.
// The application must limit the number of Regions and the sizes of queues.
package ddp
