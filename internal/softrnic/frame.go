package softrnic

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A frameType says what a frame is.
type frameType uint8

const (
	frameSend    frameType = iota + 1 // a piece of a Send
	frameWritten                      // the Writes before it belong to a Write with immediate data
	frameProbe                        // nothing: it asks for an acknowledgement

	// The frames above count: they are numbered, the sender keeps a window of them, and they are
	// acknowledged. Those below do not.

	frameAck      // acknowledges the frames that count, up to number
	frameNotReady // frame number waits for a receive of the program
	frameRefuse   // frame number is wrong; status says why
	frameBye      // the queue pair is gone; nothing follows
)

// A frame is the header of an RDMAP Send between two devices.
//
//	 0        1        2        3        4            8            12           16
//	+--------+--------+--------+--------+------------+------------+------------+---------+
//	| type   | flags  | status | 0      | immediate  | number     | length     | payload |
//	+--------+--------+--------+--------+------------+------------+------------+---------+
//
// Numbers are in network order. Frames that count are numbered from 1 on, modulo 2^32; number is
// then 0 on the wire, since TCP keeps their order.
type frame struct {
	kind      frameType
	flags     frameFlags
	status    uverbs.WCStatus // of frameRefuse
	immediate [4]byte         // as the program gave it; the key, if flagInvalidate is set
	number    uint32          // of frameAck, frameNotReady and frameRefuse
	length    uint32          // of a frameWritten: bytes written. Of frameNotReady: the RNR timer
}

type frameFlags uint8

const (
	flagFirst      frameFlags = 1 << iota // the first piece of a Send
	flagLast                              // the last piece
	flagSolicited                         // asks for a solicited event
	flagImmediate                         // immediate is valid
	flagInvalidate                        // of a frameSend: immediate is a key that the Send invalidates
	flagAck                               // asks for an acknowledgement
	knownFlags     = 1<<iota - 1
)

// frameLen is the length of a frame's header in bytes, and maxPiece the longest payload that a
// device takes. It sends no more than chunkLen with the header.
const (
	frameLen = 16
	maxPiece = 64 << 10
)

var (
	errFrame = errors.New("softrnic: the peer's device has sent a frame that is wrong")
)

// appendTo appends the header.
func (f frame) appendTo(b []byte) []byte {
	b = append(b, byte(f.kind), byte(f.flags), byte(f.status), 0)
	b = append(b, f.immediate[:]...)
	b = binary.BigEndian.AppendUint32(b, f.number)
	return binary.BigEndian.AppendUint32(b, f.length)
}

// parseFrame parses the header at the front of b. rest is the payload.
func parseFrame(b []byte) (f frame, rest []byte, err error) {
	if len(b) < frameLen {
		return f, nil, fmt.Errorf("%w: %d bytes", errFrame, len(b))
	}
	f = frame{
		kind: frameType(b[0]), flags: frameFlags(b[1]) & knownFlags, status: uverbs.WCStatus(b[2]), immediate: [4]byte(b[4:]),
		number: binary.BigEndian.Uint32(b[8:]), length: binary.BigEndian.Uint32(b[12:]),
	}
	rest = b[frameLen:]
	if f.kind < frameSend || f.kind > frameBye || !f.status.Valid() {
		return f, nil, fmt.Errorf("%w: type %d", errFrame, f.kind)
	}
	if len(rest) > maxPiece || f.kind != frameSend && len(rest) > 0 {
		return f, nil, fmt.Errorf("%w: type %d with %d bytes", errFrame, f.kind, len(rest))
	}
	if f.kind == frameRefuse && f.status == uverbs.Success { // the work request would fail with success
		return f, nil, fmt.Errorf("%w: it refuses with success", errFrame)
	}
	if f.kind != frameSend && f.flags&flagInvalidate != 0 {
		return f, nil, fmt.Errorf("%w: type %d invalidates a key", errFrame, f.kind)
	}
	return f, rest, nil
}

// A hello is the private data of the MPA Request and Reply: it says which two queue pairs are to be
// joined. A Request may ask a question instead: see door.go.
//
//	 0                 7      8      12     16           32           48
//	+-----------------+------+------+------+------------+------------+
//	| "rddp QP"       | kind | from | to   | GID        | secret     |
//	+-----------------+------+------+------+------------+------------+
//
// from and the GID belong to the end that sends the hello. The secret belongs to the end that
// dials; a Reply has none.
type hello struct {
	kind     helloKind
	from, to uint32 // QPNs
	gid      uverbs.GID
	secret   secret
}

type helloKind byte

const (
	joining  helloKind = '2'
	question helloKind = '?'
)

const helloMagic = "rddp QP"

// helloLen is the length of a hello in bytes.
const helloLen = len(helloMagic) + 1 + 4 + 4 + 16 + 16

func (h hello) appendTo(b []byte) []byte {
	b = append(append(b, helloMagic...), byte(h.kind))
	b = binary.BigEndian.AppendUint32(b, h.from)
	b = binary.BigEndian.AppendUint32(b, h.to)
	return append(append(b, h.gid[:]...), h.secret[:]...)
}

func parseHello(b []byte) (h hello, err error) {
	if len(b) == helloLen && string(b[:len(helloMagic)]) == helloMagic {
		kind := helloKind(b[len(helloMagic)])
		b = b[len(helloMagic)+1:]
		h = hello{kind, binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), uverbs.GID(b[8:]), secret(b[24:])}
	}
	if h.kind != joining && h.kind != question {
		return hello{}, errors.New("softrnic: the peer is not the device of an rddp run of this version")
	}
	return h, nil
}

// key returns the key in the place of immediate data. The program's peer has the same byte order.
func key(b [4]byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// A secret is known only to the end that dials and to the port that it dials.
type secret [16]byte

func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // it never fails
	return s
}

func (s secret) is(o secret) bool { return subtle.ConstantTimeCompare(s[:], o[:]) == 1 }
