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

// landing is the instruction at which indirect calls may land. x86asm takes its first byte for a
// prefix.
const landing = "\xf3\x0f\x1e\xfa"

// decode returns the first instruction of code.
func decode(code []byte) (i x86asm.Inst, ok bool) {
	if bytes.HasPrefix(code, []byte(landing)) {
		return x86asm.Inst{Op: x86asm.NOP, Len: len(landing)}, true
	}
	i, err := x86asm.Decode(code, 64)
	return i, err == nil && i.Len <= len(code)
}

// maxJumps bounds the instructions between a call and the function that it arrives at.
const maxJumps = 16

// goesTo reports whether a call of target arrives at a function: directly, or by jumps before
// anything is on the stack. A call of a function in another file takes such a jump, and a tail call
// is one.
func goesTo(m Memory, target, function uint64) bool {
	budget := maxJumps
	return arrives(m, target, function, &budget)
}

// arrives is goesTo, for at most so many instructions.
func arrives(m Memory, at, function uint64, budget *int) bool {
	for at != function {
		const most = 15 // bytes of an instruction
		var b [most]byte
		if *budget == 0 || m.Read(b[:], at) != nil {
			return false
		}
		*budget--
		i, ok := decode(b[:])
		if !ok {
			return false
		}
		at += uint64(i.Len)
		to, isTarget := uint64(0), false
		switch x := i.Args[0].(type) {
		case x86asm.Rel:
			to, isTarget = at+uint64(int64(x)), true
		case x86asm.Mem: // a pointer beside the code
			if i.Op == x86asm.JMP && x.Base == x86asm.RIP {
				to, isTarget = word(m, at+uint64(x.Disp))
			}
		}
		switch _, k := moves(&i); {
		case i.Op == x86asm.JMP && isTarget:
			at = to
		case i.Op == x86asm.CALL, k != still && !isTarget:
			return false
		case isTarget && arrives(m, to, function, budget):
			return true
		}
	}
	return true
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
		i, ok := decode(code)
		if !ok {
			return 0, false
		}
		code = code[i.Len:]
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
