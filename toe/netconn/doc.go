// Package netconn makes a toe.Stream from any net.Conn: TLS, net.Pipe, an SSH channel, a unix
// socket. [New] does so for any net.Conn. [NewBuffered] is for a net.Conn that becomes useless once
// one of its Writes has timed out.
//
// A net.Conn has no write that never waits and no way to wait without a buffer. The adapter
// supplies both:
//
//   - TryWriteBatch puts bytes into a send buffer of 64 KiB. The buffer, and the goroutine that
//     empties it into the net.Conn, exist only while there are bytes to write.
//   - ReadSegment waits with a buffer of 4 KiB of its own, which the Stream keeps from its first
//     wait onward, unless the caller has lent a buffer that it does not take back.
//
// # Ends
//
// CloseWrite returns at once: the bytes in the send buffer go out first, then the half-close. Close
// returns at once too. The bytes in the send buffer then have 5 s to go out, while the Stream reads
// and drops further input; after that the net.Conn is closed. A program that exits right after
// Close loses the bytes, unless it waits in Flush. Abort drops them.
//
// # TLS
//
// If a deadline ends a Write of a *tls.Conn, or its handshake, the connection is destroyed. So all
// writes to a net.Conn with a HandshakeContext method go through the send buffer, as with
// NewBuffered, and the first read or write starts the handshake in another goroutine, for at most
// 10 s. Reads wait for the handshake under their deadline; the deadline does not interrupt the
// handshake.
//
// A *tls.Conn over a [ForTLS] needs no such detour. Once the first TryWriteBatch has found the
// handshake done and the send buffer empty, records go to TCP in the goroutine that writes, and TLS
// never waits. Bytes that TCP does not take are kept, at most 64 KiB, and only they need a
// goroutine. ReadSegment returns all records that have arrived at once, waits without the caller's
// memory, and has patience. Watch works if the Stream below supports it. If a peer repeatedly asks
// for new keys and does not read the answers, its connection ends when they fill the buffer.
//
// EMSS is the length of the longest record, because a receiver gets whole records, however TCP cuts
// them. Shorter FPDUs would only be more FPDUs.
//
// # Limits
//
// Without TLS, EMSS is toe.DefaultEMSS. Pending counts only what the Stream has read ahead. The
// read deadline works only for a net.Conn whose Read a deadline can interrupt and that can then be
// read again.
//
// A Read of TLS may have to write: to answer a KeyUpdate, or with an alert. Such a Read waits
// behind what is being written, whatever its deadline.
package netconn
