// Package device runs a connection in DDP mode on an RDMA device: the second engine of package
// extsock. The device does TCP, MPA, DDP and RDMAP, and this package is its program. It posts work
// requests to a queue pair and takes completions. Between two rddp ends, Read and Write are the
// same byte stream as in process, by package bytestream, so either end may be on a device.
//
// A device needs its memory registered, and a Send needs a receive that is posted. So a connection
// has one Region: a buffer for each message that the peer has a credit for, and some for what it
// sends. What Write gets is copied there, and what Read gets is copied from there. A short message
// that waits behind another one moves to the rest of that one's buffer, so bytes bound what is
// unread, and not messages.
//
// The machine has the rules. It is a value without a goroutine, a lock or a clock: events go in,
// and it says what to post. An Engine guards one machine. It has one goroutine, which waits for
// completions. A goroutine that has passed an event to the machine posts what is then due.
//
// In message mode, which also works with foreign peers, each message occupies a receive until Read
// has taken it.
//
// A connection ends differently than in process, because a queue pair has no half-close. Close
// sends the end of the byte stream and then reads 0 bytes of the peer's memory: when that is
// complete, the peer's device has everything. Then the connection waits for the peer's end, at most
// CloseTimeout, and disconnects.
//
// On an RNIC, the end that accepts may send only after it has received something (RFC 5044 §7.1.2).
// So the byte stream of the end that dials begins with a message without data, and the byte stream
// of the other end waits for a message.
package device
