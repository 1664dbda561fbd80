package dissect

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"
)

// Limits of the capture file formats. Skipped blocks may be longer. A file that exceeds the limits
// counts as damaged, so that four octets of nonsense can't make the reader allocate gigabytes.
const (
	maxPacket     = 1 << 20 // octets of one captured packet; Linux captures at most 256 KiB
	maxBlock      = maxPacket + 64<<10
	maxInterfaces = 4096
)

// Magic numbers, as the file's first four octets read in little-endian order.
const (
	pcapMicro        = 0xA1B2C3D4
	pcapNano         = 0xA1B23C4D
	pcapMicroSwapped = 0xD4C3B2A1
	pcapNanoSwapped  = 0x4D3CB2A1
	pcapngSection    = 0x0A0D0D0A
)

// packet is one packet of a capture file. The next call of next overwrites data.
type packet struct {
	time time.Time
	link uint16 // LINKTYPE_ value
	data []byte
	cut  bool // the capture holds only the beginning of the packet
}

// packets reads a capture file packet by packet. After the last one it returns io.EOF; every other
// error is one of the sentinels of this package or the reader's own.
type packets interface {
	next() (packet, error)
}

// openCapture examines the first octets of r and returns the reader for its format.
//
// The package has its own readers, because those of gopacket treat the end of a file inside a block
// as its proper end, panic at malformed options, allocate as much memory as a length field says,
// and cut the link type to eight bits, which hides Linux's "cooked v2".
func openCapture(r io.Reader) (packets, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(4)
	switch {
	case errors.Is(err, io.EOF) && len(magic) == 0:
		return nil, fmt.Errorf("%w: the file is empty", ErrNotCapture)
	case errors.Is(err, io.EOF):
		return nil, ErrNotCapture
	case err != nil:
		return nil, err
	}
	switch m := binary.LittleEndian.Uint32(magic); m {
	case pcapMicro, pcapNano:
		return newPcapReader(b, binary.LittleEndian, m == pcapNano)
	case pcapMicroSwapped, pcapNanoSwapped:
		return newPcapReader(b, binary.BigEndian, m == pcapNanoSwapped)
	case pcapngSection:
		return &pcapngReader{r: b}, nil
	}
	return nil, fmt.Errorf("%w: it starts with % x", ErrNotCapture, magic)
}

// pcapReader reads the classic format: a header of 24 octets, then for each packet 16 octets (time
// in two words, captured length, original length) and the captured octets.
type pcapReader struct {
	r     io.Reader
	order binary.ByteOrder
	tick  time.Duration // unit of the second word of a time stamp
	link  uint16
	buf   []byte
}

func newPcapReader(r io.Reader, order binary.ByteOrder, nano bool) (*pcapReader, error) {
	var h [24]byte
	if err := readFull(r, h[:]); err != nil {
		return nil, err
	}
	if major := order.Uint16(h[4:]); major != 2 {
		return nil, fmt.Errorf("%w: pcap version %d", ErrMalformed, major)
	}
	p := &pcapReader{r: r, order: order, tick: time.Microsecond}
	if nano {
		p.tick = time.Nanosecond
	}
	p.link = uint16(order.Uint32(h[20:])) // the upper bits describe a frame check sequence
	return p, nil
}

func (p *pcapReader) next() (packet, error) {
	var h [16]byte
	if n, err := io.ReadFull(p.r, h[:]); n == 0 && errors.Is(err, io.EOF) {
		return packet{}, io.EOF
	} else if err != nil {
		return packet{}, truncated(err)
	}
	captured, original := p.order.Uint32(h[8:]), p.order.Uint32(h[12:])
	if captured > maxPacket {
		return packet{}, fmt.Errorf("%w: a packet of %d bytes", ErrMalformed, captured)
	}
	p.buf = grow(p.buf, int(captured))
	if err := readFull(p.r, p.buf); err != nil {
		return packet{}, err
	}
	t := time.Unix(int64(p.order.Uint32(h[0:])), int64(p.order.Uint32(h[4:]))*int64(p.tick))
	return packet{time: t.UTC(), link: p.link, data: p.buf, cut: captured < original}, nil
}

// Types of the pcapng blocks that matter here; others are skipped.
const (
	blockInterface      = 1
	blockObsoletePacket = 2
	blockSimplePacket   = 3
	blockEnhancedPacket = 6
)

var wantedBlocks = []uint32{blockInterface, blockObsoletePacket, blockSimplePacket, blockEnhancedPacket}

// pcapngReader reads the block format: type, total length, body, total length again. A section
// header sets the byte order and clears the earlier interfaces.
type pcapngReader struct {
	r          io.Reader
	order      binary.ByteOrder // nil before the first section header
	interfaces []pcapngInterface
	buf        []byte
}

type pcapngInterface struct {
	link   uint16
	snap   uint32 // octets of a packet that are kept; 0 = all
	units  uint64 // time stamp units in a second
	offset int64  // seconds to add to each time stamp
}

func (p *pcapngReader) next() (packet, error) {
	for {
		kind, body, err := p.block()
		if err != nil {
			return packet{}, err
		}
		switch kind {
		case blockInterface:
			if err := p.addInterface(body); err != nil {
				return packet{}, err
			}
		case blockEnhancedPacket:
			if len(body) < 20 {
				return packet{}, fmt.Errorf("%w: a packet block of %d bytes", ErrMalformed, len(body))
			}
			return p.packet(p.order.Uint32(body), body[4:])
		case blockObsoletePacket: // a two-octet interface number and a drop count
			if len(body) < 20 {
				return packet{}, fmt.Errorf("%w: a packet block of %d bytes", ErrMalformed, len(body))
			}
			return p.packet(uint32(p.order.Uint16(body)), body[4:])
		case blockSimplePacket:
			if len(body) < 4 {
				return packet{}, fmt.Errorf("%w: a packet block of %d bytes", ErrMalformed, len(body))
			}
			return p.simplePacket(p.order.Uint32(body), body[4:])
		}
	}
}

// block reads one block and returns its type and body, which the next call overwrites. It handles
// section headers itself, because they set the byte order of their own length field.
func (p *pcapngReader) block() (kind uint32, body []byte, err error) {
	var h [12]byte
	if n, err := io.ReadFull(p.r, h[:]); n == 0 && errors.Is(err, io.EOF) {
		return 0, nil, io.EOF
	} else if err != nil {
		return 0, nil, truncated(err)
	}
	section := binary.LittleEndian.Uint32(h[:]) == pcapngSection // the same in both orders
	if section {
		switch magic := uint32(0x1A2B3C4D); magic {
		case binary.LittleEndian.Uint32(h[8:]):
			p.order = binary.LittleEndian
		case binary.BigEndian.Uint32(h[8:]):
			p.order = binary.BigEndian
		default:
			return 0, nil, fmt.Errorf("%w: byte order mark % x", ErrMalformed, h[8:])
		}
		p.interfaces = p.interfaces[:0]
	}
	total := p.order.Uint32(h[4:])
	kind = p.order.Uint32(h[:])
	wanted := section || slices.Contains(wantedBlocks, kind)
	if total < 12 || total%4 != 0 || wanted && total > maxBlock || section && total < 28 {
		return 0, nil, fmt.Errorf("%w: a block of %d bytes", ErrMalformed, total)
	}
	if total == 12 { // no body: the second length field has been read already
		return kind, nil, nil
	}
	if !wanted {
		return kind, nil, p.stepOver(total)
	}
	p.buf = grow(p.buf, int(total-8))
	copy(p.buf, h[8:])
	if err := readFull(p.r, p.buf[4:]); err != nil {
		return 0, nil, err
	}
	body = p.buf[:len(p.buf)-4]
	if again := p.order.Uint32(p.buf[len(body):]); again != total {
		return 0, nil, blockEnds(total, again)
	}
	if section && p.order.Uint16(body[4:]) != 1 {
		return 0, nil, fmt.Errorf("%w: pcapng version %d", ErrMalformed, p.order.Uint16(body[4:]))
	}
	return kind, body, nil
}

// stepOver skips the rest of a block, of which 12 octets have been read. The block may have any
// size.
func (p *pcapngReader) stepOver(total uint32) error {
	if _, err := io.CopyN(io.Discard, p.r, int64(total)-16); err != nil {
		return truncated(err)
	}
	var b [4]byte
	if err := readFull(p.r, b[:]); err != nil {
		return err
	}
	if again := p.order.Uint32(b[:]); again != total {
		return blockEnds(total, again)
	}
	return nil
}

func blockEnds(total, again uint32) error {
	return fmt.Errorf("%w: a block of %d bytes that ends as one of %d", ErrMalformed, total, again)
}

// addInterface adds an interface from its description: link type, reserved, snap length, options.
func (p *pcapngReader) addInterface(body []byte) error {
	if len(body) < 8 || len(p.interfaces) == maxInterfaces {
		return fmt.Errorf("%w: interface description %d", ErrMalformed, len(p.interfaces))
	}
	i := pcapngInterface{link: p.order.Uint16(body), snap: p.order.Uint32(body[4:]), units: 1e6}
	for o := body[8:]; len(o) >= 4; {
		code, n := p.order.Uint16(o), int(p.order.Uint16(o[2:]))
		if code == 0 { // end of options
			break
		}
		padded := (n + 3) &^ 3
		if len(o) < 4+padded {
			return fmt.Errorf("%w: option %d of an interface description", ErrMalformed, code)
		}
		switch value := o[4 : 4+n]; {
		case code == 9 && n == 1: // if_tsresol
			i.units = unitsOf(value[0])
		case code == 14 && n == 8: // if_tsoffset
			i.offset = int64(p.order.Uint64(value))
		}
		o = o[4+padded:]
	}
	p.interfaces = append(p.interfaces, i)
	return nil
}

// unitsOf returns the time stamp units in a second for an if_tsresol octet: a power of ten, or of
// two when the top bit is set. For powers that don't fit it returns the default, microseconds.
func unitsOf(resolution byte) uint64 {
	exponent := int(resolution & 0x7F)
	if resolution&0x80 != 0 {
		if exponent > 63 {
			return 1e6
		}
		return 1 << exponent
	}
	if exponent > 19 {
		return 1e6
	}
	units := uint64(1)
	for range exponent {
		units *= 10
	}
	return units
}

// packet reads the rest, after the interface number, of the two packet blocks that have one: time
// in two words, captured length, original length, octets.
func (p *pcapngReader) packet(number uint32, b []byte) (packet, error) {
	if uint64(number) >= uint64(len(p.interfaces)) {
		return packet{}, fmt.Errorf("%w: a packet of interface %d of %d", ErrMalformed, number, len(p.interfaces))
	}
	i := p.interfaces[number]
	stamp := uint64(p.order.Uint32(b))<<32 | uint64(p.order.Uint32(b[4:]))
	captured, original := p.order.Uint32(b[8:]), p.order.Uint32(b[12:])
	if uint64(captured) > uint64(len(b)-16) {
		return packet{}, fmt.Errorf("%w: a packet of %d bytes", ErrMalformed, captured)
	}
	return packet{time: i.time(stamp), link: i.link, data: b[16 : 16+captured], cut: captured < original}, nil
}

// simplePacket reads a block that has only the original length, and no time stamp.
func (p *pcapngReader) simplePacket(original uint32, b []byte) (packet, error) {
	if len(p.interfaces) == 0 {
		return packet{}, fmt.Errorf("%w: a packet before any interface", ErrMalformed)
	}
	i := p.interfaces[0]
	captured := original
	if i.snap != 0 {
		captured = min(captured, i.snap)
	}
	if uint64(captured) > uint64(len(b)) {
		return packet{}, fmt.Errorf("%w: a packet of %d bytes", ErrMalformed, captured)
	}
	return packet{time: time.Unix(0, 0).UTC(), link: i.link, data: b[:captured], cut: captured < original}, nil
}

func (i pcapngInterface) time(stamp uint64) time.Time {
	hi, lo := bits.Mul64(stamp%i.units, 1e9)
	nanoseconds, _ := bits.Div64(hi, lo, i.units) // < 1e9, because the factor is < units
	return time.Unix(int64(stamp/i.units)+i.offset, int64(nanoseconds)).UTC()
}

// readFull fills b. If the file ends before that, it returns ErrTruncated.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	return truncated(err)
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}

// grow returns a slice of n octets, b itself if it is large enough.
func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
