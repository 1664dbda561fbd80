// Package pcapng writes the bytes of connections to a capture file in pcapng format
// (draft-ietf-opsawg-pcapng), with Ethernet, IP and TCP headers made up around them. It is what a
// program links that imports extsock/capture. Package dissect reads such files, and is no part of
// it: so the reader, with another's decoder of packets, judges the writer.
package pcapng
