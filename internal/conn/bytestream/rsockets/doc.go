// Package rsockets has the rules of the byte stream of librdmacm's rsockets. Like package
// bytestream, it is pure: its values start no goroutine, take no lock, do no I/O and read no clock,
// and they hold no memory of the stream. A connection passes events to them and carries out their
// decisions.
//
//	Header     what the two ends tell each other in the MPA private data
//	Word       the 4 bytes of each Send
//	Sender     the peer's buffer: how much may be written to it, and where
//	Receiver   this end's buffer: what may arrive, what waits for Read, what the peer must learn
//	Ends       how each end has ended
//
// # The protocol
//
// Each end has a receive buffer of two halves, and an array of slots for descriptors of the peer's
// buffer. Data goes by RDMA Write to the half whose turn it is, and an OpData word behind it says
// how many bytes came. A half is filled completely before the next one is used. When a half is free
// again, its owner writes the half's descriptor to the next slot of the peer's, and an OpCredits
// word follows. The descriptor of the first half is in the Header, and that of the second half is
// due at once.
//
// An OpCredits word also states up to how many data messages the peer may have sent, as an absolute
// number of 16 bits: those that this end has taken, and Header.Credits more. Words other than
// OpData use no credit. They do use the peer's receive buffers, of which there are as many as
// credits, so a Sender leaves some credits unused.
//
// Words and descriptors have the byte order of the machine that reads them. The Header has the
// network's, and says which of the two its sender has.
package rsockets
