package filecopy

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"time"
)

// A fileType is the type of a file, as far as this package distinguishes types. Its values go over
// the wire.
type fileType uint8

const (
	typeFile  fileType = iota + 1 // a regular file
	typeDir                       // a directory
	typeOther                     // a symbolic link, device, socket …, which is never copied
)

// An attr contains the attributes of a file that Copy preserves.
type attr struct {
	Type fileType
	Perm uint16 // permission bits, 0 to 0777
	Size uint64 // bytes, at most 2^63-1; 0 unless it is a regular file
	Sec  int64  // modification time, seconds since 1970 UTC
	Nsec uint32 // and nanoseconds, 0 to 999,999,999
}

// attrLen is the length of an attr on the wire, in octets:
//
//	| type (1 octet) | permission bits (2) | size (8) | seconds (8, signed) | nanoseconds (4) |
const attrLen = 1 + 2 + 8 + 8 + 4

func (a attr) appendTo(b []byte) []byte {
	b = append(b, byte(a.Type))
	b = binary.BigEndian.AppendUint16(b, a.Perm)
	b = binary.BigEndian.AppendUint64(b, a.Size)
	b = binary.BigEndian.AppendUint64(b, uint64(a.Sec))
	return binary.BigEndian.AppendUint32(b, a.Nsec)
}

var errAttr = errors.New("malformed attributes")

func parseAttr(b []byte) (a attr, rest []byte, err error) {
	if len(b) < attrLen {
		return attr{}, b, errAttr
	}
	a = attr{
		Type: fileType(b[0]), Perm: binary.BigEndian.Uint16(b[1:]), Size: binary.BigEndian.Uint64(b[3:]),
		Sec: int64(binary.BigEndian.Uint64(b[11:])), Nsec: binary.BigEndian.Uint32(b[19:]),
	}
	if a.Type < typeFile || a.Type > typeOther || a.Perm > 0o777 || a.Size > math.MaxInt64 || a.Nsec >= 1e9 ||
		a.Type != typeFile && a.Size > 0 {
		return attr{}, b, errAttr
	}
	return a, b[attrLen:], nil
}

// attrOf returns the attr of the file that info describes.
func attrOf(info fs.FileInfo) attr {
	m := info.ModTime()
	a := attr{Type: typeOther, Perm: uint16(info.Mode().Perm()), Sec: m.Unix(), Nsec: uint32(m.Nanosecond())}
	switch {
	case info.Mode().IsRegular():
		a.Type, a.Size = typeFile, uint64(info.Size())
	case info.IsDir():
		a.Type = typeDir
	}
	return a
}

// sameContent reports whether files with a and b may have the same content: size and modification
// time are equal.
func (a attr) sameContent(b attr) bool {
	return a.Type == b.Type && a.Size == b.Size && a.Sec == b.Sec && a.Nsec == b.Nsec
}

func (a attr) perm() fs.FileMode { return fs.FileMode(a.Perm) }
func (a attr) size() int64       { return int64(a.Size) }

// modTime returns the modification time, or the nearest one that package os can set: it counts
// nanoseconds from 1970 on in 64 bits, which last until 2262.
func (a attr) modTime() time.Time {
	const second = int64(time.Second)
	return time.Unix(min(max(a.Sec, math.MinInt64/second), math.MaxInt64/second-1), int64(a.Nsec))
}
