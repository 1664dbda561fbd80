// Package fpdu implements MPA's Full Operation phase (RFC 5044 §4 to §6): the FPDUs that give a TCP
// stream the record boundaries that DDP needs, and a CRC that is strong enough for placing data. It
// begins where the startup of package mpa ends, with the [mpa.Agreement] of the two ends. The driver
// of a connection uses it, and so do the tools that read captures.
//
// The package lies between DDP, whose segments it calls ULPDUs, and TCP, and depends on neither. It
// does no I/O, starts no goroutine and uses no clock.
//
// # Full Operation
//
// Each direction is independent. Offsets count the bytes of the direction's stream; offset 0 is the
// first byte after the startup frame. Each ULPDU travels in one FPDU:
//
//	0               2                      2+n        2+n+pad      6+n+pad
//	+---------------+----------------------+----------+------------+
//	| ULPDU_Length  | ULPDU, n octets      | PAD, 0-3 | CRC32C     |
//	+---------------+----------------------+----------+------------+
//	big-endian                               zero       little-endian
//
// If the receiver asked for Markers, there is one at every offset that is a multiple of 512. Each
// Marker is inside an FPDU and points back to the ULPDU_Length of that FPDU.
//
// A [Sender] appends FPDUs to a [Batch], which holds the bytes of one vectored write. [MULPDU]
// returns how long a ULPDU should be at most, so that its FPDU fits in a TCP segment.
//
// A [Receiver] takes bytes as TCP delivers them and returns whole, verified ULPDUs:
//
//	n := read(r.Free())
//	r.Fill(off, n)
//	for r.Next() {
//		use(r.ULPDU())
//	}
//	deliver everything below r.Edge()
//
// The Receiver also accepts bytes that arrive after a gap, as a hint; see [Receiver.Fill].
//
// # Errors and limits
//
// Errors are [*mpa.Error] values with the RFC's code, which RDMAP reports in a Terminate. After an
// error a Receiver returns nothing more. MPA itself does not close the connection (RFC 5044 §8).
//
// Sending or receiving an FPDU allocates no memory. A Sender, a Receiver and a Batch belong to one
// goroutine each. A Receiver accepts ULPDUs of 0 to 65535 bytes. RFC 5044 §3 allows a sender no
// more than 64768, but some peers send longer ULPDUs.
package fpdu
