// Package dissect decodes captures of iWARP connections, and writes captures of them.
//
// # Reading
//
// Read takes a pcap or pcapng file and emits one Record for each MPA Request, MPA Reply and FPDU in
// it, in the order in which they were complete on the wire:
//
//	err := dissect.Read(file, func(r dissect.Record) error {
//		fmt.Println(r) // or json.NewEncoder(os.Stdout).Encode(r)
//		return nil
//	})
//
// MPA is found by its frames, on any port and at any place of a connection: a program may switch to
// it after any amount of plain TCP. The two frames tell whether FPDUs have a CRC and which
// direction carries markers. TCP segments may be out of order, retransmitted or overlapping. Link
// types: Ethernet and Linux "cooked" (both versions), with any number of VLAN tags, raw IP, BSD
// loopback. IPv4, IPv6, and each in the other. Of other tunnels (VXLAN, GRE, MPLS, PPPoE …) and of
// what is not TCP, the packets are counted: if there are any, or if there is no other record, the
// last record is of KindSummary.
//
// What is wrong with one connection is a record of KindError, and the others go on: an unusable MPA
// frame, octets that the capture does not have, an FPDU that never ends, a row of bad CRCs. A
// single bad CRC, a marker that points to the wrong place or a header that can't be parsed is told
// in the record of its FPDU, and decoding goes on behind it. A connection whose beginning the
// capture does not have is decoded from the first TCP segment that can only be FPDUs, after a
// KindError that says so. A Request that was captured behind its Reply is decoded after a
// KindError, too.
//
// A file that can't be read to its end gives a *FileError after the records that could be made.
//
// # JSON
//
// A Record marshals to one flat object. Always: t (seconds since the first packet) and kind, and,
// except in a summary, src and dst. For mpa-request and mpa-reply: rev, want_markers, want_crc,
// reject, private_data (hexadecimal), and with the enhanced form ird, ord, peer_to_peer, rtr_send,
// rtr_write, rtr_read. For fpdu: op, ulpdu_len, crc (good, bad, off), last, payload_len; as they
// apply markers, pad_set, stag and to, or qn, msn and mo, invalidate_stag, the fields of the RDMAP
// header, and for a Terminate its words in terminate. For error: error. For summary: tcp_packets,
// unread_packets (without TCP that can be read), and unread, an object with their numbers by
// reason. An fpdu has error too when something but its CRC is wrong.
//
// # Writing
//
// A Writer makes a capture of connections that only exist as octet streams in this program: each
// Flow takes what was sent and received, and the Writer puts made-up packets around it, so that
// Wireshark and this package can read it. Its TCP is idealised: no loss, no delay, and
// acknowledgements only where they are free or due.
//
// # Limits
//
// Memory is bounded: 8 MiB of out-of-order octets in a direction and 64 MiB in all, 65536
// connections at a time. Fragments of IP packets are not put together; they are
// counted, and an error of a direction tells of them. After a gap in the capture a
// direction is not taken up again.
package dissect
