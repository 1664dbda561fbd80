package usertcp

import (
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// A flow is what the tap knows of one connection. The fields of the handshake do not change once a
// Stream is attached; until then the tap's lock guards them.
type flow struct {
	attached bool // a Stream has been made
	active   bool // we have sent the first SYN
	iss      uint32
	irs      uint32 // the peer's initial sequence number
	hasIRS   bool
	peer     header.TCPSynOptions // MSS is 0 if they are not known

	emss atomic.Int32
}

// handshake records the peer's SYN, whose options may be unknown.
func (f *flow) handshake(irs uint32, options []byte, isACK bool) {
	f.irs, f.hasIRS = irs, true
	if options != nil {
		f.peer = header.ParseSynOptions(options, isACK)
	}
}

const (
	timestampLen = 12 // with two NOPs
	sackLen      = 2 + 2 + 4*8
	maxOptions   = 40
)

// emssAfterHandshake returns the EMSS in bytes: the peer's MSS, or what fits our MTU, less the
// options that a segment may carry. gVisor leaves room for as many SACK blocks as there can be, so a
// segment never shrinks because something is missing in the other direction.
// "The sender MUST reduce the TCP data length to account for any IP or TCP options that it is
// including in the packets that it sends." (RFC 6691 §2)
func (f *flow) emssAfterHandshake(mtu int, is4 bool) int {
	options := 0
	if f.peer.TS {
		options += timestampLen
	}
	if f.peer.SACKPermitted {
		options = min(options+sackLen, maxOptions)
	}
	mss := int(f.peer.MSS)
	if mss == 0 {
		mss = header.TCPDefaultMSS
	}
	return max(1, min(mss, mtu-ipHeaderLen(is4)-header.TCPMinimumSize)-options)
}
