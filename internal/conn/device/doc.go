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
// The rules are those of the machine, a value without a goroutine, a lock or a clock. It is told
// what has happened, and says what is to be posted. An Engine guards one machine. It has one
// goroutine, which waits for completions. Each goroutine that has told the machine something posts
// what is due.
//
// In message mode, which foreign peers know, each message takes a receive until Read has taken it.
//
// The end of a connection differs from that in process, since a queue pair has no half-close. Close
// sends the end of the byte stream and then reads 0 bytes of the peer's memory: when that is
// complete, the peer's device has everything. Then the connection waits for the peer's end, at most
// CloseTimeout, and disconnects.
//
// An RNIC's end that accepts may send only when something has been received (RFC 5044 §7.1.2). The
// byte stream of the end that dials therefore begins with a message without data, and that of the
// other end waits for a message.
package device
