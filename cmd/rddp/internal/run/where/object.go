package where

import (
	"debug/elf"
	"encoding/binary"
)

// A Memory is that of a program.
type Memory interface {
	// Read copies len(b) bytes at addr to b.
	Read(b []byte, addr uint64) error
}

// Sizes in ELF files of 64 bits.
const (
	fileHeaderLen    = 64
	programHeaderLen = 56
	maxSegments      = 64
)

// A segments is what the beginning of an ELF file in memory tells.
type segments struct {
	bias   uint64 // what an address in memory has more than in the file
	frames uint64 // the address of .eh_frame_hdr in memory; 0 if there is none
}

// readSegments reads the headers of the ELF file that is mapped at start.
func readSegments(m Memory, start uint64) (s segments, ok bool) {
	var b [fileHeaderLen]byte
	le := binary.LittleEndian
	if m.Read(b[:], start) != nil || string(b[:4]) != elf.ELFMAG || elf.Class(b[4]) != elf.ELFCLASS64 || elf.Data(b[5]) != elf.ELFDATA2LSB {
		return s, false
	}
	offset, size, n := le.Uint64(b[32:]), le.Uint16(b[54:]), le.Uint16(b[56:])
	if size != programHeaderLen || n == 0 || n > maxSegments {
		return s, false
	}
	all := make([]byte, int(n)*programHeaderLen)
	if m.Read(all, start+offset) != nil {
		return s, false
	}
	const page = 4096
	frames, hasFrames := uint64(0), false
	for ; len(all) > 0; all = all[programHeaderLen:] {
		at, addr := le.Uint64(all[8:]), le.Uint64(all[16:])
		switch elf.ProgType(le.Uint32(all)) {
		case elf.PT_LOAD:
			if !ok && at < page {
				s.bias, ok = start-(addr-at), true
			}
		case elf.PT_GNU_EH_FRAME:
			frames, hasFrames = addr, true
		}
	}
	if hasFrames {
		s.frames = s.bias + frames
	}
	return s, ok
}

// What .eh_frame_hdr begins with, as all linkers write it: the version, the encodings of the
// address of .eh_frame, of the number of entries, and of the entries.
const framesHeader = "\x01\x1b\x03\x3b"

// maxFrames bounds the number of functions in a file.
const maxFrames = 1 << 24

// searchFrame returns the address of the frame description of the function that may have the
// address pc. The table is sorted by the beginnings of the functions.
func searchFrame(m Memory, table, pc uint64) (at uint64, ok bool) {
	var b [12]byte
	le := binary.LittleEndian
	if m.Read(b[:], table) != nil || string(b[:4]) != framesHeader {
		return 0, false
	}
	n := le.Uint32(b[8:])
	if n > maxFrames {
		return 0, false
	}
	for from, to := uint32(0), n; from < to; {
		middle := from + (to-from)/2
		if m.Read(b[:8], table+12+8*uint64(middle)) != nil {
			return 0, false
		}
		if begin := table + uint64(int64(int32(le.Uint32(b[:])))); begin > pc {
			to = middle
			continue
		}
		at, ok, from = table+uint64(int64(int32(le.Uint32(b[4:])))), true, middle+1
	}
	return at, ok
}
