package where

import "encoding/binary"

// Bounds for a walk along a stack.
const (
	maxFrame  = 1 << 20 // bytes
	maxDepth  = 32      // frames
	maxInside = 16      // frames of a static program, of which the first ones are those of rdma-core
	maxOwn    = 4       // frames of another one: inline functions of rdma-core are in its file
)

// A point is an address of code in a file.
type point struct {
	object *object
	addr   uint64 // in the file
}

// walk goes along the stack of a thread that makes a system call, from its stack pointer and
// program counter. It returns the first frame that is the program's own. If rdma-core is a part of
// the program's file, walk returns all the first frames in that file. It returns none if it is not
// certain of one.
func (s *space) walk(m Memory, sp, pc uint64, f files) (own []point) {
	fp, knowsFP := uint64(0), false
	s.byManager = false
	for depth := 0; depth < maxDepth; depth++ {
		x := s.find(m, pc, depth > 0, f)
		if x.object == nil || depth > 0 && !x.isReturn || x.object.inner && len(own) > 0 {
			return own
		}
		s.byManager = s.byManager || isManager(x.object.name)
		addr := pc - x.object.bias - 1 // in the instruction that calls
		if !x.object.inner {
			most := maxInside
			if s.hasLibs {
				most = maxOwn
			}
			if own = append(own, point{x.object, addr}); len(own) == most {
				return own
			}
		}
		cfa, ok := x.cfa(sp, fp, knowsFP)
		if !ok || cfa-sp > maxFrame || cfa <= sp || cfa%8 != 0 {
			return own
		}
		next, ok := word(m, cfa-wordLen)
		if !ok {
			return own
		}
		if x.base == framePointer && !knowsFP {
			// The size of the frame is a conclusion, so what is there must be right beyond doubt.
			if y := s.find(m, next, true, f); !y.isReturn || y.knowsTarget && !goesTo(m, y.target, x.begin) {
				return own
			}
		}
		if x.saved != 0 {
			fp, knowsFP = word(m, cfa+uint64(x.saved))
		}
		sp, pc = cfa, next
	}
	return own
}

// cfa returns the CFA of the frame.
func (x *step) cfa(sp, fp uint64, knowsFP bool) (uint64, bool) {
	switch {
	case !x.hasRule:
		return 0, false
	case x.base == stackPointer:
		return sp + uint64(x.offset), true
	case knowsFP:
		return fp + uint64(x.offset), true
	}
	return sp + uint64(x.size), x.hasSize
}

func word(m Memory, addr uint64) (uint64, bool) {
	var b [8]byte
	err := m.Read(b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), err == nil
}

// A window is a Memory that has read a part of another one in advance.
type window struct {
	Memory
	at uint64
	b  []byte
}

// windowLen is how much of a stack is read at once.
const windowLen = 4096

// look reads a part of a memory in advance, if it is there.
func look(m Memory, at uint64) *window {
	w := &window{m, at, make([]byte, windowLen)}
	if m.Read(w.b, at) != nil {
		w.b = nil
	}
	return w
}

func (w *window) Read(b []byte, addr uint64) error {
	if off := addr - w.at; off <= uint64(len(w.b)) && uint64(len(b)) <= uint64(len(w.b))-off {
		copy(b, w.b[off:])
		return nil
	}
	return w.Memory.Read(b, addr)
}
