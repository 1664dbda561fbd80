package where

import "encoding/binary"

// Bounds for the instructions of a frame description. What executes them keeps a copy of all rules
// for each state that it remembers.
const (
	maxRegister   = 127     // DWARF numbers of all architectures are below
	maxNested     = 16      // states that are remembered at the same time
	maxRemembered = 1 << 10 // states
)

// An operand is what an instruction has behind it.
type operand uint8

const (
	byte1 operand = iota
	byte2
	byte4
	byte8
	number   // an LEB128
	register // an unsigned LEB128 that names a register
	block    // an unsigned LEB128 and as many bytes
)

// operands are those of the instructions with a number below 64, which compilers write.
var operands = map[byte][]operand{
	0x00: {}, // nop
	0x01: {byte8},
	0x02: {byte1},
	0x03: {byte2},
	0x04: {byte4},
	0x05: {register, number},
	0x06: {register},
	0x07: {register},
	0x08: {register},
	0x09: {register, register},
	0x0a: {}, // remember_state
	0x0b: {}, // restore_state
	0x0c: {register, number},
	0x0d: {register},
	0x0e: {number},
	0x0f: {block},
	0x10: {register, block},
	0x11: {register, number},
	0x12: {register, number},
	0x13: {number},
	0x14: {register, number},
	0x15: {register, number},
	0x16: {register, block},
	0x2e: {number}, // GNU_args_size
}

const (
	rememberState = 0x0a
	restoreState  = 0x0b
)

// areBounded reports whether the instructions of a frame description can be executed with little
// memory and time. They are those of the CIE or of the FDE.
func areBounded(b []byte) bool {
	nested, remembered := 0, 0
	for len(b) > 0 {
		op := b[0]
		b = b[1:]
		all, ok := operands[op]
		switch high := op >> 6; {
		case high == 2: // offset, of a register below 64
			all, ok = []operand{number}, true
		case high != 0: // advance_loc, restore
			all, ok = nil, true
		case op == rememberState:
			nested++
			remembered++
		case op == restoreState:
			nested--
		}
		if !ok || nested < 0 || nested > maxNested || remembered > maxRemembered {
			return false
		}
		for _, x := range all {
			if b, ok = x.skip(b); !ok {
				return false
			}
		}
	}
	return true
}

// skip returns what follows an operand. ok is false if the operand is not complete, or out of
// bounds.
func (x operand) skip(b []byte) (rest []byte, ok bool) {
	n := uint64(0)
	switch x {
	case byte1, byte2, byte4, byte8:
		n = 1 << x
	case number, register, block:
		v, k := binary.Uvarint(b)
		if k <= 0 || x == register && v > maxRegister {
			return nil, false
		}
		if b = b[k:]; x == block {
			n = v
		}
	}
	if n > uint64(len(b)) {
		return nil, false
	}
	return b[n:], true
}
