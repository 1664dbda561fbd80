// Package pcapng writes the bytes of connections to a capture file in pcapng format
// (draft-ietf-opsawg-pcapng), with Ethernet, IP and TCP headers made up around them. Programs that
// import extsock/capture link this package. Package dissect, which reads such files, is separate
// and uses another decoder of packets, so that it can check the writer independently.
package pcapng
