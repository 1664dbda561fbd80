package nldev

import (
	"bytes"
	"encoding/binary"
	"syscall"
)

var native = binary.NativeEndian

// headerLen is the length in bytes of the header of a message, and attrLen that of an attribute.
const (
	headerLen = 16
	attrLen   = 4
)

// The flags of a request.
const (
	flagRequest = 0x1
	flagMulti   = 0x2 // of an answer: more messages follow
	flagAck     = 0x4
	flagDump    = 0x300 // either bit asks for a dump
	flagCapped  = 0x100 // of an NLMSG_ERROR: only the header of the request follows
)

// Types of messages. Those of requests begin at leastType.
const (
	typeError = 2
	typeDone  = 3
	leastType = 16
)

// The type of a request is a client in the upper six bits, and its command.
const (
	clientShift = 10
	clientNLDEV = 5
)

// typeMask has the bits of the type of an attribute. The other bits are flags.
const typeMask = 0x3fff

// A command is a command of NLDEV.
type command uint16

const (
	get        command = 1
	portGet    command = 5
	sysGet     command = 6
	resGet     command = 9
	qpGet      command = 10
	idGet      command = 11
	cqGet      command = 12
	mrGet      command = 13
	pdGet      command = 14
	getCharDev command = 15
	statGet    command = 17
	ctxGet     command = 22
	srqGet     command = 23
	highest    command = 28
)

// Sets of commands.
const (
	// SET, NEWLINK, DELLINK, SYS_SET, STAT_SET, STAT_DEL, NEWDEV and DELDEV
	setCommands = 1<<2 | 1<<3 | 1<<4 | 1<<7 | 1<<16 | 1<<18 | 1<<26 | 1<<27
	// those that ignore that a dump is asked for
	noDump = 1<<getCharDev | 1<<sysGet
)

// is reports whether c is in a set of commands.
func (c command) is(set uint32) bool { return 1<<c&set != 0 }

// A header begins each message.
type header struct {
	kind  uint16
	flags uint16
	seq   uint32
}

// parseMessage splits the first message from b. ok is false if there is none, at which the kernel
// ignores the rest.
func parseMessage(b []byte) (h header, message, rest []byte, ok bool) {
	if len(b) < headerLen {
		return h, nil, nil, false
	}
	n := native.Uint32(b)
	if n < headerLen || uint64(n) > uint64(len(b)) {
		return h, nil, nil, false
	}
	h = header{native.Uint16(b[4:]), native.Uint16(b[6:]), native.Uint32(b[8:])}
	return h, b[:n], b[min(align(int(n)), len(b)):], true
}

// align rounds a length up to the beginning of the next attribute or message.
func align(n int) int { return (n + 3) &^ 3 }

// attributes are the attributes of a request. Those that the program has not sent are nil.
type attributes struct {
	device   *uint32
	port     *uint32
	charType *string
	statOf   *uint32
	numbers  [kinds]*uint32 // of an object, by its kind
}

// parseAttributes parses the attributes of a request. It ignores those that it does not know: newer
// programs send them.
func parseAttributes(b []byte) (a attributes, e syscall.Errno) {
	for len(b) > 0 {
		if len(b) < attrLen {
			return a, syscall.EINVAL
		}
		n := int(native.Uint16(b))
		if n < attrLen || n > len(b) {
			return a, syscall.EINVAL
		}
		if e := a.set(native.Uint16(b[2:])&typeMask, b[attrLen:n]); e != 0 {
			return a, e
		}
		b = b[min(align(n), len(b)):]
	}
	return a, 0
}

// set notes the value of one attribute.
func (a *attributes) set(kind uint16, value []byte) syscall.Errno {
	var to **uint32
	switch kind {
	case attrDevIndex:
		to = &a.device
	case attrPortIndex:
		to = &a.port
	case attrStatRes:
		to = &a.statOf
	case attrCharDevType:
		s, ok := text(value)
		if !ok {
			return syscall.EINVAL
		}
		a.charType = &s
		return 0
	default:
		for k := range kinds {
			if kind == layouts[k].number {
				to = &a.numbers[k]
			}
		}
		if to == nil {
			return 0
		}
	}
	if len(value) != 4 {
		return syscall.EINVAL
	}
	n := native.Uint32(value)
	*to = &n
	return 0
}

// longestText is the maximum length of a text of a program in bytes.
const longestText = 32

// text returns the text in an attribute, which must end in a zero byte.
func text(b []byte) (string, bool) {
	s, rest, ok := bytes.Cut(b, []byte{0})
	return string(s), ok && len(rest) == 0 && len(s) < longestText
}
