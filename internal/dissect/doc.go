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
// Read finds MPA by its frames, on any port and at any point of a connection: a program may switch
// to MPA after any amount of plain TCP. The two frames tell whether FPDUs have a CRC and which
// direction carries markers. TCP segments may be out of order, retransmitted or overlapping. Link
// types: Ethernet and Linux "cooked" (both versions), with any number of VLAN tags, raw IP, BSD
// loopback. IPv4, IPv6, and each in the other. Packets of other tunnels (VXLAN, GRE, MPLS, PPPoE …)
// and packets without TCP are only counted: if there are any, or if there is no other record, the
// last record is of KindSummary.
//
// An error in one connection gives a record of KindError, and decoding of the other connections
// continues: an unusable MPA frame, missing octets, an FPDU that never ends, several bad CRCs in a
// row. A single bad CRC, a marker that points to the wrong place or a header that can't be parsed
// is reported in the record of its FPDU, and decoding continues after it. If the beginning of a
// connection is not in the capture, decoding begins with the first TCP segment that can only
// consist of FPDUs, after a KindError that says so. A Request that was captured after its Reply is
// also decoded after a KindError.
//
// If a file can't be read to its end, Read returns a *FileError after the records that it could
// make.
//
// # JSON
//
// A Record marshals to one flat object. Always: t (seconds since the first packet) and kind, and,
// except in a summary, src and dst. For mpa-request and mpa-reply: rev, want_markers, want_crc,
// reject, private_data (hexadecimal), and with the enhanced form ird, ord, peer_to_peer, rtr_send,
// rtr_write, rtr_read. For fpdu: op, ulpdu_len, crc (good, bad, off), last, payload_len; if they
// apply markers, pad_set, stag and to, or qn, msn and mo, invalidate_stag, the fields of the RDMAP
// header, and for a Terminate its words in terminate. For error: error. For summary: tcp_packets,
// unread_packets (without TCP that can be read), and unread, an object with their numbers by
// reason. An fpdu also has error if something other than its CRC is wrong.
//
// # Writing
//
// A Writer makes a capture of connections that exist only as octet streams in this program: each
// Flow takes the data sent and received, and the Writer puts made-up packets around them, so that
// Wireshark and this package can read them. Its TCP is idealized: no loss, no delay, and
// acknowledgments only where they are free or necessary.
//
// # Limits
//
// Memory is bounded: 8 MiB of out-of-order octets in a direction and 64 MiB in all, 65536
// connections at a time. Fragments of IP packets are not reassembled; they are counted, and an
// error of a direction mentions them. After a gap in the capture, decoding of a direction does not
// resume.
package dissect
