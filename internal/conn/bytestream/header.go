package bytestream

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"github.com/rddp/rddp/rdmap"
)

// ErrStream means that the peer broke the rules of the byte stream. It is a syscall.EPROTO to
// programs.
var ErrStream = fmt.Errorf("malformed byte stream: %w", syscall.EPROTO)

// A Header begins each message:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------------------------------+
//	|     Type      |     Flags     |            Credits            |
//	+---------------+---------------+-------------------------------+
//
//	type    bytes behind the header
//	data    of the stream; none if the message is about credits or the end
//	offer   Length (4): how many bytes a long Write would like to place itself
//	grant   Handle (16): where to, at most as long as the offer; length 0 means: send the bytes as data
//	done    Length (4) of what has been placed, in order from the first byte on
//	cancel  none: the Write was over before it placed a byte
//
// Flag 1 of a data message says that no data comes after it. The other flags are 0.
type Header struct {
	Kind    Kind
	FIN     bool   // no data comes after this message
	Credits uint16 // buffers that the sender has freed since its last message
}

// A Kind is the type of a message.
type Kind uint8

// The kinds.
const (
	Data Kind = iota
	Offer
	Grant
	Done
	Cancel
)

var kindNames = [...]string{"data", "offer", "grant", "done", "cancel"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Lengths and limits, in bytes.
//
// When a Read returns before the Write to which it has granted its memory is over, all of the grant
// is copied to memory of the connection. The Read's deadline and Close wait for that copy, so
// MaxGrant bounds it. MaxGrant is not shorter than MinOffer, so a longer Write goes on with the
// next offer. If the reader has memory for less than the crossover, the rest goes as data. When a
// Write's deadline passes, a few RDMA Writes may have to be copied, so piece bounds these.
const (
	HeaderLen = 4
	lengthLen = 4               // of an offer's or a done's Length
	maxBody   = rdmap.HandleLen // the longest body of a message that is not data
	flagFIN   = 1               // in Flags
	maxCount  = 1<<16 - 1       // of Credits
	MaxOffer  = 1 << 30         // the longest offer
	MaxGrant  = 64 << 20        // the longest grant: see above
	MinGrant  = 32 << 10        // a Read with less memory is not worth a grant
	piece     = 1 << 20         // the longest RDMA Write of a rendezvous: see above
	Combine   = 8 << 10         // a shorter Write is copied, to be sent together with others
	// CombineInBurst is the length in bytes up to which a Write in a burst is copied. With the copy
	// Write need not wait for TCP, and many Writes need one system call. A longer Write is worth a
	// system call, and its copy costs more than that.
	CombineInBurst = 64 << 10
)

// Counts of buffers and credits.
const (
	// Reserve is how many credits data, offers and the ends of offers leave unused.
	Reserve = 2
	// ExtraBuffers is how many buffers an end has for which the peer gets no credits: one for the
	// end of the stream, and one for a cancel, of which there is at most one.
	ExtraBuffers = 2
	// MinCredits is the smallest number of receive buffers of an end.
	MinCredits = 4
	// MinMessage is the minimum length of such a buffer in bytes.
	MinMessage = 512
)

// AppendTo appends the header's 4 bytes to b.
func (h Header) AppendTo(b []byte) []byte {
	flags := byte(0)
	if h.FIN {
		flags = flagFIN
	}
	return binary.BigEndian.AppendUint16(append(b, byte(h.Kind), flags), h.Credits)
}

// ParseHeader reads a header from the front of b and returns what follows it. The error, an
// ErrStream, means that b is too short or does not have the format of a header.
func ParseHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderLen {
		return Header{}, b, fmt.Errorf("%w: message of %d bytes", ErrStream, len(b))
	}
	h = Header{Kind: Kind(b[0]), FIN: b[1] == flagFIN, Credits: binary.BigEndian.Uint16(b[2:])}
	if h.Kind > Cancel || b[1]&^flagFIN != 0 || h.FIN && h.Kind != Data {
		return h, b, fmt.Errorf("%w: header %x", ErrStream, b[:HeaderLen])
	}
	return h, b[HeaderLen:], nil
}

// IsData reports whether payload, of the first segment of a message, begins a message with data.
func IsData(payload []byte) bool { return len(payload) > HeaderLen && Kind(payload[0]) == Data }

// bodyLen returns how many bytes a message that is not data has behind its header.
func (k Kind) bodyLen() int {
	switch k {
	case Offer, Done:
		return lengthLen
	case Grant:
		return rdmap.HandleLen
	}
	return 0
}
