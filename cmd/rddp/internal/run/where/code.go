package where

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// This file reads instructions of x86-64.

// isCall reports whether an address is one to which a call returns: there is a call instruction
// just in front of it. target is where the call goes, if the instruction says so.
func isCall(m Memory, addr uint64) (target uint64, known, ok bool) {
	const most = 7 // bytes of a call
	var b [most]byte
	if addr < most || m.Read(b[:], addr-most) != nil {
		return 0, false, false
	}
	if b[2] == 0xe8 {
		return addr + uint64(int64(int32(binary.LittleEndian.Uint32(b[3:])))), true, true
	}
	if b[1] == 0xff && b[2] == 0x15 { // through a pointer beside the code
		target, known = word(m, addr+uint64(int64(int32(binary.LittleEndian.Uint32(b[3:])))))
		return target, known, true
	}
	for n := 2; n <= most; n++ {
		if i, err := x86asm.Decode(b[most-n:], 64); err == nil && i.Op == x86asm.CALL && i.Len == n {
			return 0, false, true
		}
	}
	return 0, false, false
}

// landing is the instruction at which indirect calls may land.
const landing = "\xf3\x0f\x1e\xfa"

// goesTo reports whether a call of target arrives at a function: directly, or by the jump with
// which files call functions of other files.
func goesTo(m Memory, target, function uint64) bool {
	if target == function {
		return true
	}
	var b [16]byte
	if m.Read(b[:], target) != nil {
		return false
	}
	jump := bytes.TrimPrefix(b[:], []byte(landing))
	jump = bytes.TrimPrefix(jump, []byte{0xf2})
	if !bytes.HasPrefix(jump, []byte{0xff, 0x25}) {
		return false
	}
	next := target + uint64(len(b)-len(jump)) + 6
	to, ok := word(m, next+uint64(int64(int32(binary.LittleEndian.Uint32(jump[2:])))))
	return ok && to == function
}

// maxCode bounds the bytes of a function that are looked at.
const maxCode = 1 << 14

// frameSize returns how many bytes the stack pointer is below the CFA at pc, in a function that
// begins by saving the frame pointer. It is certain only if nothing behind the function's prologue
// moves the stack pointer, other than at its end.
func frameSize(m Memory, begin, pc uint64) (size int64, ok bool) {
	if pc-begin > maxCode {
		return 0, false
	}
	code := make([]byte, pc-begin)
	if m.Read(code, begin) != nil {
		return 0, false
	}
	size = wordLen
	prologue, has := true, false
	for len(code) > 0 {
		i, err := x86asm.Decode(code, 64)
		if err != nil {
			if !bytes.HasPrefix(code, []byte(landing)) {
				return 0, false
			}
			i = x86asm.Inst{Op: x86asm.NOP, Len: len(landing)}
		}
		code = code[min(i.Len, len(code)):]
		n, k := moves(&i)
		switch {
		case k == ends:
			prologue = false
		case k == sets:
			has = has || prologue
		case k == unknown, k == grows && !prologue:
			return 0, false
		case k == grows:
			size += n
		}
	}
	return size, has
}

// What an instruction does to the stack pointer.
type movement uint8

const (
	still   movement = iota
	grows            // the stack, by a constant
	shrinks          // as at the end of a function
	sets             // the frame pointer to it
	ends             // a prologue
	unknown
)

func moves(i *x86asm.Inst) (n int64, k movement) {
	switch i.Op {
	case x86asm.PUSH:
		return wordLen, grows
	case x86asm.POP, x86asm.LEAVE:
		return 0, shrinks
	case x86asm.CALL, x86asm.JMP, x86asm.RET:
		return 0, ends
	case x86asm.ENTER, x86asm.XCHG, x86asm.PUSHF, x86asm.PUSHFQ:
		return 0, unknown
	case x86asm.CMP, x86asm.TEST:
		return 0, still
	case x86asm.MOV:
		if i.Args[0] == x86asm.RBP && i.Args[1] == x86asm.RSP {
			return 0, sets
		}
	}
	if isBranch(i) {
		return 0, ends
	}
	if i.Args[0] != x86asm.RSP && i.Args[0] != x86asm.ESP && i.Args[0] != x86asm.SP {
		return 0, still
	}
	by, constant := i.Args[1].(x86asm.Imm)
	from, _ := i.Args[1].(x86asm.Mem)
	switch {
	case i.Op == x86asm.SUB && constant && by > 0:
		return int64(by), grows
	case i.Op == x86asm.ADD && constant && by > 0, i.Op == x86asm.LEA && from.Base == x86asm.RBP, i.Op == x86asm.MOV && i.Args[1] == x86asm.RBP:
		return 0, shrinks
	}
	return 0, unknown
}

// isBranch reports whether an instruction is a conditional jump.
func isBranch(i *x86asm.Inst) bool { _, ok := i.Args[0].(x86asm.Rel); return ok }
