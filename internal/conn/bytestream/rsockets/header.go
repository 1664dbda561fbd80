package rsockets

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// ErrNoHeader means that private data is not a Header.
var ErrNoHeader = fmt.Errorf("%w: the peer's private data is not that of rsockets", bytestream.ErrStream)

// HeaderLen is the length of a Header in bytes.
const HeaderLen = 40

// A Header is the MPA private data of an end:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------------------------------+
//	|    Version    |     Flags     |            Credits            |
//	+---------------+---------------+---------------+---------------+
//	|                   Reserved                    |  IOMap size   |
//	+-----------------------------------------------+---------------+
//	|           Slots: TO (8), STag (4), number of slots (4)        |
//	+---------------------------------------------------------------+
//	|         Buffer: TO (8), STag (4), length in bytes (4)         |
//	+---------------------------------------------------------------+
//
// Flag 1 says that the end is big-endian, flag 2 that it knows the IO map, by which programs of
// librdmacm lend memory for RDMA Writes without a word. This package does not use the IO map.
type Header struct {
	BigEndian bool
	Credits   uint16       // data messages that the end has room for
	Slots     rdmap.Handle // where the peer writes descriptors; Len is the number of slots
	Buffer    rdmap.Handle // the first half of the receive buffer
}

const (
	version       = 1
	flagBigEndian = 1
	flagIOMap     = 2
)

// AppendTo appends the header's 40 bytes to b.
func (h Header) AppendTo(b []byte) []byte {
	flags := byte(0)
	if h.BigEndian {
		flags = flagBigEndian
	}
	b = append(b, version, flags)
	b = binary.BigEndian.AppendUint16(b, h.Credits)
	b = append(b, 0, 0, 0, 0)
	b = appendHandle(b, h.Slots)
	return appendHandle(b, h.Buffer)
}

func appendHandle(b []byte, h rdmap.Handle) []byte {
	b = binary.BigEndian.AppendUint64(b, h.TO)
	b = binary.BigEndian.AppendUint32(b, uint32(h.STag))
	return binary.BigEndian.AppendUint32(b, h.Len)
}

// ParseHeader reads the header from private data. The error, an ErrNoHeader, means that the private
// data is not from an rsockets program, or that this end cannot use what it says.
func ParseHeader(b []byte) (Header, error) {
	switch {
	case len(b) < HeaderLen:
		return Header{}, fmt.Errorf("%w: %d bytes", ErrNoHeader, len(b))
	case b[0] != version || b[1]&^(flagBigEndian|flagIOMap) != 0 || b[4]|b[5]|b[6] != 0:
		return Header{}, fmt.Errorf("%w: it begins %x", ErrNoHeader, b[:8])
	}
	h := Header{
		BigEndian: b[1]&flagBigEndian != 0, Credits: binary.BigEndian.Uint16(b[2:]),
		Slots: parseHandle(binary.BigEndian, b[8:]), Buffer: parseHandle(binary.BigEndian, b[24:]),
	}
	if h.Credits < MinCredits || h.Credits > 1<<15 || h.Slots.Len == 0 {
		return Header{}, fmt.Errorf("%w: %d credits, %d slots", ErrNoHeader, h.Credits, h.Slots.Len)
	}
	return h, nil
}

func parseHandle(order binary.ByteOrder, b []byte) rdmap.Handle {
	return rdmap.Handle{TO: order.Uint64(b), STag: ddp.STag(order.Uint32(b[8:])), Len: order.Uint32(b[12:])}
}

// Order returns the byte order of the header's machine.
func (h Header) Order() binary.ByteOrder {
	if h.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// A Word is the 4 bytes of a Send: an Op, and 29 bits whose meaning depends on the Op.
type Word uint32

// WordLen is the length of a Word in bytes.
const WordLen = 4

// An Op says what a Word means.
type Op uint8

// The Ops. A program of librdmacm sends OpIOMap for an IO map, which this package does not offer.
const (
	OpData    Op = 0 // so many bytes have been written
	OpCredits Op = 4 // the limit of data messages, and perhaps a descriptor
	OpIOMap   Op = 6
	OpControl Op = 7 // one of the constants below
)

// What OpControl says.
const (
	Disconnect = 0 // this end neither sends nor receives any more
	KeepAlive  = 1
	Shutdown   = 2 // this end sends no more data
)

const (
	opShift  = 29
	dataMask = 1<<opShift - 1
	// MaxHalf is the maximum length of half a receive buffer in bytes.
	MaxHalf = 1 << 28
)

// HalfLen returns the length in bytes of half a receive buffer, at most n, which is at least 1.
// Only one byte of the length is not zero. The peer's program polls its slots while its device may
// be copying a descriptor there, as siw does byte by byte. The program must not take a part of the
// length for the whole length.
func HalfLen(n int) int {
	n = min(n, MaxHalf)
	shift := (bits.Len(uint(n)) - 1) / 8 * 8
	return n >> shift << shift
}

// NewWord returns the word of op and data.
func NewWord(op Op, data uint32) Word { return Word(uint32(op)<<opShift | data&dataMask) }

// Op returns the word's Op.
func (w Word) Op() Op { return Op(w >> opShift) }

// Data returns the word's other 29 bits.
func (w Word) Data() uint32 { return uint32(w) & dataMask }

// PutWord writes w to the first 4 bytes of b.
func PutWord(order binary.ByteOrder, b []byte, w Word) { order.PutUint32(b, uint32(w)) }

// ParseWord reads the word that is a whole message of the peer.
func ParseWord(order binary.ByteOrder, b []byte) (Word, error) {
	if len(b) != WordLen {
		return 0, streamError("a message of %d bytes", len(b))
	}
	return Word(order.Uint32(b)), nil
}

// SlotLen is the length in bytes of a slot, which has room for one descriptor: TO (8), STag (4),
// length (4).
const SlotLen = 16

// PutSlot writes the descriptor h to the first 16 bytes of b.
func PutSlot(order binary.ByteOrder, b []byte, h rdmap.Handle) {
	order.PutUint64(b, h.TO)
	order.PutUint32(b[8:], uint32(h.STag))
	order.PutUint32(b[12:], h.Len)
}

// ParseSlot reads the descriptor in a slot. It has length 0 if the slot is empty.
func ParseSlot(order binary.ByteOrder, b []byte) rdmap.Handle { return parseHandle(order, b) }

// ErrWord returns the ErrStream of a word that the peer must not send.
func ErrWord(w Word) error { return streamError("word %08x", uint32(w)) }

func streamError(format string, args ...any) error {
	return fmt.Errorf("%w: rsockets: %s", bytestream.ErrStream, fmt.Sprintf(format, args...))
}
