package where

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// Numbers of registers in the frame tables of x86-64, and the length of an address. A call puts the
// address to which it returns just below the CFA. The CFA of a frame is the stack pointer before
// the call.
const (
	framePointer  = 6
	stackPointer  = 7
	returnAddress = 16
	wordLen       = 8
)

// A rule says how a frame is found from the one that it has called.
type rule struct {
	begin  uint64 // of the function
	base   uint64 // the register to which offset is added for the CFA
	offset int64
	saved  int64 // where the caller's frame pointer is, from the CFA on; 0 if it is still in the register
}

// Maximum lengths of what describes a frame.
const (
	maxCommon      = 1 << 12
	maxDescription = 1 << 14
)

// readRule reads the rule for pc from the frame description at an address. ok is false if there is
// none, or it is one that compilers do not write for usual functions.
func readRule(m Memory, at, pc uint64) (r rule, ok bool) {
	own, ok := readEntry(m, at, maxDescription)
	if !ok {
		return r, false
	}
	common, ok := readEntry(m, at+4-uint64(binary.LittleEndian.Uint32(own[4:])), maxCommon)
	if !ok || binary.LittleEndian.Uint32(common[4:]) != 0 {
		return r, false
	}
	return parseRule(common, own, at, pc)
}

// readEntry reads an entry of .eh_frame: its length, and as many bytes.
func readEntry(m Memory, at uint64, most uint32) (b []byte, ok bool) {
	var head [4]byte
	if m.Read(head[:], at) != nil {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < 4 || n > most {
		return nil, false
	}
	b = make([]byte, 4+n)
	return b, m.Read(b, at) == nil
}

// parseRule finds the rule for pc in two entries of .eh_frame. The second one, own, is at an
// address in memory.
func parseRule(common, own []byte, at, pc uint64) (r rule, ok bool) {
	defer func() {
		if recover() != nil { // the package panics for some contents
			r, ok = rule{}, false
		}
	}()
	// The package reads a whole section. Here it gets one with the two entries alone: own names the
	// other one by the distance.
	section := slices.Concat(common, own)
	binary.LittleEndian.PutUint32(section[len(common)+4:], uint32(len(common)+4))
	all, err := frame.Parse(section, binary.LittleEndian, 0, 8, at-uint64(len(common)))
	if err != nil {
		return r, false
	}
	return ruleIn(all, pc)
}

// maxTable bounds the length of a whole section of frame descriptions.
const maxTable = 8 << 20

// readTable reads a section .eh_frame, for a file without a table of its functions. It is at an
// address in the file.
func readTable(m Memory, bias, at, n uint64) (all frame.FrameDescriptionEntries) {
	defer func() {
		if recover() != nil {
			all = nil
		}
	}()
	if n > maxTable {
		return nil
	}
	b := make([]byte, n)
	if m.Read(b, bias+at) != nil {
		return nil
	}
	all, err := frame.Parse(b, binary.LittleEndian, 0, 8, at)
	if err != nil {
		return nil
	}
	slices.SortFunc(all, func(a, b *frame.FrameDescriptionEntry) int { return cmp.Compare(a.Begin(), b.Begin()) })
	return all
}

// tableRule finds the rule for pc in a section that readTable has read.
func tableRule(all frame.FrameDescriptionEntries, pc uint64) (r rule, ok bool) {
	defer func() {
		if recover() != nil {
			r, ok = rule{}, false
		}
	}()
	return ruleIn(all, pc)
}

func ruleIn(all frame.FrameDescriptionEntries, pc uint64) (r rule, ok bool) {
	d, err := all.FDEForPC(pc)
	if err != nil {
		return r, false
	}
	return execute(d, pc)
}

// execute finds the rule for pc in a frame description. It panics for some contents.
func execute(d *frame.FrameDescriptionEntry, pc uint64) (r rule, ok bool) {
	if d.CIE.ReturnAddressRegister != returnAddress || strings.Contains(d.CIE.Augmentation, "S") { // S: a signal
		return r, false
	}
	if len(d.CIE.InitialInstructions) > maxCommon || len(d.Instructions) > maxDescription || !areBounded(d.CIE.InitialInstructions) || !areBounded(d.Instructions) {
		return r, false
	}
	c, err := d.EstablishFrame(pc)
	if err != nil {
		return r, false
	}
	r = rule{begin: d.Begin(), base: c.CFA.Reg, offset: c.CFA.Offset}
	switch fp := c.Regs[framePointer]; fp.Rule {
	case frame.RuleUndefined, frame.RuleSameVal:
	case frame.RuleOffset:
		r.saved = fp.Offset
	default:
		return r, false
	}
	ra := c.Regs[returnAddress]
	return r, c.CFA.Rule == frame.RuleCFA && (r.base == stackPointer || r.base == framePointer) && ra.Rule == frame.RuleOffset && ra.Offset == -wordLen
}
