// Package ddp is the Direct Data Placement protocol of RFC 5041: it carries messages in segments that
// each say where in the peer's memory their payload goes, and sees to it that none goes anywhere else.
//
// It lies between RDMAP, which gives messages a meaning, and MPA, which carries segments over TCP, and
// knows neither. It does no I/O, starts no goroutine and knows no time.
//
// # Two kinds of buffers
//
// A Tagged Buffer is a [Region] of a [Domain]: memory that the application has registered, named on
// the wire by STag and TO. The peer chooses where in it a tagged message goes. An Untagged Buffer is
// memory posted to a [Queue]: the k-th message of a QN, by its MSN, goes to the k-th buffer posted.
//
// # Down
//
// A [Sender] cuts a [Message] into Segments of at most MULPDU octets. The payload is referred to, not
// copied. A Message whose payload is in a Region is read under the Region's lock, one Segment at a
// time; such a Segment must be copied before its CRC is computed, because peers may write the Region
// meanwhile.
//
// # Up
//
// A [Receiver] takes verified segments. Placing a segment copies its payload to its final memory;
// delivering a message tells the layer above of it, in stream order and once. Place checks all of a
// segment before it writes the first octet: version, what the ULP says of its control octet
// ([ReceiverConfig].Admit), then for a tagged one STag, stream, right, wrap of TO and bounds, and for
// an untagged one QN, MSN, buffer, MO and length. The first segment that fails ends the stream, with
// an [*Error] that carries RFC 5041's error number, once all messages before it are delivered.
//
// Segments are expected in order, so of each queue only the next MSN and MO is right. TryPlace takes a
// segment out of order, as a hint: the same stream with and without hints gives the same deliveries
// and, if nothing in it is wrong, the same memory. (Memory that is registered twice, or registered and
// posted, is the exception: RFC 5042 §6.3.6 warns of it.)
//
// # Memory, and who may touch it
//
// A Region's memory is the application's; peers read and write it whenever they like until
// [Region.Deregister] has returned. A posted buffer is the Queue's until its Message is delivered or
// [Queue.Flush] has returned. [Region.Window] gives a part of a Region a name of its own, to be revoked by
// itself. Deregister and Flush wait for the copy that is under way, and nothing else here waits for more
// than such a copy.
//
// Domains, Regions and Queues may be used by any goroutine. A Sender and a Receiver belong to one
// goroutine each. Nothing on the way of a segment allocates memory.
//
// # Limits
//
// A message has at most 2^32-1 octets. A Region of another Domain is reported as an invalid STag, not
// as one that is not associated with the stream: a Domain does not look into another. The number of
// Regions and the sizes of queues are the application's to bound.
package ddp
