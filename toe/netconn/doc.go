// Package netconn makes a toe.Stream of a net.Conn that is not one: TLS, net.Pipe, an SSH channel,
// a unix socket. [New] does so for any net.Conn. [NewBuffered] is for a net.Conn that is useless
// once one of its Writes has timed out.
//
// A net.Conn has no write that never waits and no way to wait without a buffer. The adapter
// supplies both:
//
//   - TryWriteBatch puts bytes into a send buffer of 64 KiB, which exists only while it holds
//     something. So does the one goroutine that empties it into the net.Conn.
//   - ReadSegment waits with a buffer of 4 KiB of its own, which the Stream keeps from its first
//     wait on, unless the caller has lent a buffer that it does not take back.
//
// # Ends
//
// CloseWrite returns at once: the bytes in the send buffer go out first, then the half-close. Close
// returns at once too. The bytes in the send buffer then have 5 s to go out, while the Stream reads
// and drops what still comes in; after that the net.Conn is closed. A program that ends right after
// Close loses them, unless it waits in Flush. Abort drops them.
//
// # TLS
//
// A Write of a *tls.Conn that its deadline ends destroys the connection, and so does a handshake.
// So all writes to a net.Conn with a HandshakeContext method go through the send buffer, as those
// of NewBuffered do, and the first read or write starts the handshake in a goroutine of its own,
// for at most 10 s. Reads wait for the handshake under their deadline; the deadline does not harm
// the handshake.
//
// A *tls.Conn over a [ForTLS] needs no such detour. Once the first TryWriteBatch has found the
// handshake done and the send buffer empty, records go to TCP in the goroutine that writes, and TLS
// never waits: what TCP does not take is kept, at most 64 KiB, and is all that then needs a
// goroutine. ReadSegment gives all the records that have arrived at once, waits without the
// caller's memory, and has patience. Watch works if it does below. A peer that asks for new keys
// again and again, and reads none of the answers, ends its connection when they fill the buffer.
//
// EMSS is the length of the longest record, because a receiver gets whole records, however TCP cuts
// them: shorter FPDUs would only be more of them.
//
// # Limits
//
// Without TLS, EMSS is toe.DefaultEMSS. Pending counts only what the Stream has read ahead. The
// read deadline needs a net.Conn whose Read can be interrupted by one and be resumed.
//
// A Read of TLS may have to write: to answer a KeyUpdate, or with an alert. Such a Read waits
// behind what is being written, whatever its deadline.
package netconn
