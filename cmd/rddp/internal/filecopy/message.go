package filecopy

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rddp/rddp/rdmap"
)

// maxMessage is the maximum length of a message in bytes, which is the length of each posted
// receive buffer.
const maxMessage = 16 << 10

// A kind is the kind of a message.
type kind uint8

// These kinds come from the client.
const (
	kindStat    kind = iota + 1 // asks for the attr of this path
	kindList                    // asks for the first entries of this directory
	kindNext                    // asks for the next entries of that directory
	kindMkdir                   // makes this directory, unless it exists
	kindSetAttr                 // sets the permission bits and time of this directory, unless it is finished
	kindGet                     // asks for this file; the client has the bytes before the offset, with this sum
	kindRelease                 // the client has read this chunk
	kindPut                     // offers this file
	kindBegin                   // the client sends from this offset on: the offset in ready, or 0
	kindWritten                 // the memory granted for this chunk is filled
)

// These kinds come from both ends.
const (
	kindEnd  kind = iota + 16 // the last chunk has been announced or written; the whole file's sum
	kindBusy                  // the sender is still alive
)

// These kinds come from the server.
const (
	kindAttr    kind = iota + 32 // answers stat
	kindEntries                  // answers list and next; the flag says that there are more
	kindMade                     // answers mkdir and setattr; after mkdir, the flag says that the directory is unfinished
	kindFile                     // answers get: the file's attr, and the offset from which the server sends it
	kindChunk                    // a chunk is ready to be read
	kindReady                    // answers put: the number of bytes that the server has, and their sum
	kindGrant                    // memory for a chunk
	kindDone                     // answers end: the file is complete and has its name
	kindError                    // answers any request, or ends a copy and thus the connection
)

// A message is one Send. The first octet is its kind. The fields follow in this order:
//
//	| attr (23 octets) | number (8) | handle (16) | sum (32) | flag (1) | code (1) | entries or text (the rest) |
//
// Each kind has the fields in layouts:
//
//	stat     path                        attr     attr
//	list     path                        entries  flag entries
//	next
//	mkdir    path                        made     flag
//	setattr  attr path                   made     flag
//	get      attr offset sum path        file     attr offset
//	                                     chunk    index handle      … as many as it takes
//	release  index                                                  … each
//	                                     end      sum
//	put      attr path                   ready    offset sum
//	begin    offset
//	                                     grant    index handle      … as many as it takes
//	written  index                                                  … each
//	end      sum                         done     sum
//	busy                                 busy
//	                                     error    code text
//
// Numbers are big-endian. Chunks are numbered from 0 in each file; the length in the handle is the
// length of the chunk. The sums in get and ready are those of the octets before the offset. Each
// entry in a list has the form
//
//	| attr (23 octets) | length of the name (1) | name |
//
// If the flag says that there are more, the list contains at least one new name.
type message struct {
	kind    kind
	attr    attr
	number  uint64 // offset or index
	handle  rdmap.Handle
	sum     sum
	flag    bool
	code    code
	entries []entry
	text    string // a path, or the text of an error
}

// An entry is one name of a directory.
type entry struct {
	name string
	attr attr
}

// A sum is a SHA-256.
type sum = [sha256.Size]byte

// A layout is the set of fields that a kind has.
type layout uint8

const (
	hasAttr layout = 1 << iota
	hasNumber
	hasHandle
	hasSum
	hasFlag
	hasCode
	hasEntries
	hasText
)

var layouts = map[kind]layout{
	kindStat: hasText, kindList: hasText, kindNext: 0, kindMkdir: hasText, kindSetAttr: hasAttr | hasText,
	kindGet: hasAttr | hasNumber | hasSum | hasText, kindRelease: hasNumber,
	kindPut: hasAttr | hasText, kindBegin: hasNumber, kindWritten: hasNumber,
	kindEnd: hasSum, kindBusy: 0,
	kindAttr: hasAttr, kindEntries: hasFlag | hasEntries, kindMade: hasFlag,
	kindFile: hasAttr | hasNumber, kindChunk: hasNumber | hasHandle,
	kindReady: hasNumber | hasSum, kindGrant: hasNumber | hasHandle, kindDone: hasSum,
	kindError: hasCode | hasText,
}

var kindNames = map[kind]string{
	kindStat: "stat", kindList: "list", kindNext: "next", kindMkdir: "mkdir", kindSetAttr: "setattr", kindGet: "get",
	kindRelease: "release", kindPut: "put", kindBegin: "begin", kindWritten: "written", kindEnd: "end",
	kindBusy: "busy", kindAttr: "attr", kindEntries: "entries", kindMade: "made", kindFile: "file",
	kindChunk: "chunk", kindReady: "ready", kindGrant: "grant", kindDone: "done", kindError: "error",
}

func (k kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("message kind %d", uint8(k))
}

func (m message) appendTo(b []byte) []byte {
	l := layouts[m.kind]
	b = append(b, byte(m.kind))
	if l&hasAttr != 0 {
		b = m.attr.appendTo(b)
	}
	if l&hasNumber != 0 {
		b = binary.BigEndian.AppendUint64(b, m.number)
	}
	if l&hasHandle != 0 {
		b = m.handle.AppendTo(b)
	}
	if l&hasSum != 0 {
		b = append(b, m.sum[:]...)
	}
	if l&hasFlag != 0 {
		b = append(b, boolByte(m.flag))
	}
	if l&hasCode != 0 {
		b = append(b, byte(m.code))
	}
	for _, e := range m.entries {
		b = e.appendTo(b)
	}
	return append(b, m.text...)
}

func boolByte(f bool) byte {
	if f {
		return 1
	}
	return 0
}

var errMessage = errors.New("malformed message")

// parseMessage parses one whole message. It does not check paths: they are checked where they are
// used, so that the client gets an answer to an invalid path. The names of entries are single path
// elements, but may be invalid on this system.
func parseMessage(b []byte) (m message, err error) {
	if len(b) == 0 {
		return message{}, errMessage
	}
	l, known := layouts[kind(b[0])]
	if !known {
		return message{}, fmt.Errorf("%w: unknown %v", errMessage, kind(b[0]))
	}
	m.kind, b = kind(b[0]), b[1:]
	if l&hasAttr != 0 {
		if m.attr, b, err = parseAttr(b); err != nil {
			return message{}, err
		}
	}
	if b, err = m.parseFixed(l, b); err != nil {
		return message{}, err
	}
	switch {
	case l&hasEntries != 0:
		m.entries, err = parseEntries(b)
	case l&hasText != 0:
		m.text = string(b)
	case len(b) > 0:
		err = fmt.Errorf("%w: %d bytes after %v", errMessage, len(b), m.kind)
	}
	if err != nil {
		return message{}, err
	}
	return m, nil
}

// parseFixed parses the fields between attr and entries or text.
func (m *message) parseFixed(l layout, b []byte) (rest []byte, err error) {
	if len(b) < l.fixedLen() {
		return b, fmt.Errorf("%w: %v too short", errMessage, m.kind)
	}
	if l&hasNumber != 0 {
		m.number, b = binary.BigEndian.Uint64(b), b[8:]
	}
	if l&hasHandle != 0 {
		if m.handle, b, err = rdmap.ParseHandle(b); err != nil {
			return b, err
		}
	}
	if l&hasSum != 0 {
		m.sum, b = sum(b[:sha256.Size]), b[sha256.Size:]
	}
	if l&hasFlag != 0 {
		if b[0] > 1 {
			return b, fmt.Errorf("%w: flag %d", errMessage, b[0])
		}
		m.flag, b = b[0] == 1, b[1:]
	}
	if l&hasCode != 0 {
		m.code, b = code(b[0]), b[1:]
	}
	return b, nil
}

// fixedLen returns the total length of the fields number, handle, sum, flag and code in l.
func (l layout) fixedLen() (n int) {
	for _, f := range []struct {
		field layout
		n     int
	}{{hasNumber, 8}, {hasHandle, handleLen}, {hasSum, sha256.Size}, {hasFlag, 1}, {hasCode, 1}} {
		if l&f.field != 0 {
			n += f.n
		}
	}
	return n
}

// handleLen is the length of a Handle on the wire, in bytes.
const handleLen = 16

func (e entry) appendTo(b []byte) []byte {
	b = e.attr.appendTo(b)
	b = append(b, byte(len(e.name)))
	return append(b, e.name...)
}

func parseEntries(b []byte) (entries []entry, err error) {
	for len(b) > 0 {
		var e entry
		if e.attr, b, err = parseAttr(b); err != nil {
			return nil, err
		}
		if len(b) == 0 || len(b)-1 < int(b[0]) {
			return nil, fmt.Errorf("%w: entry too short", errMessage)
		}
		n := 1 + int(b[0])
		e.name, b = string(b[1:n]), b[n:]
		if !isElement(e.name) {
			return nil, fmt.Errorf("%w: name %q", errMessage, e.name)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// maxText is the maximum length of the text of an error message, in bytes.
const maxText = 1000

// errorMessage returns the message that reports err to the client.
func errorMessage(err error) message {
	text := plain(err).Error()
	if len(text) > maxText {
		text = text[:maxText]
	}
	return message{kind: kindError, code: codeOf(err), text: text}
}

// remoteError returns the error that an error message reports.
func (m message) remoteError() error { return &RemoteError{Text: printable(m.text), code: m.code} }
