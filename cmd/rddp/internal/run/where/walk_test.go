package where

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// A fake is the memory of a program: parts by their addresses.
type fake map[uint64][]byte

var errNoMemory = errors.New("no memory")

func (f fake) Read(b []byte, addr uint64) error {
	for at, part := range f {
		if addr >= at && addr-at <= uint64(len(part)) && uint64(len(b)) <= uint64(len(part))-(addr-at) {
			copy(b, part[addr-at:])
			return nil
		}
	}
	return errNoMemory
}

// noFiles are the files of a program that has none to read.
type noFiles struct{}

func (noFiles) file(*mapping) *file                               { return nil }
func (noFiles) table(*file, uint64) frame.FrameDescriptionEntries { return nil }

// Addresses of the program of fakeProgram. Each function has 256 bytes.
const (
	fakeBase  = 0x400000
	fakeTable = fakeBase + 0x400
	fakeCode  = fakeBase + 0x1000
	fakeInner = fakeCode         // as if it were rdma-core: it has 16 bytes of stack besides the return address
	fakeOwn   = fakeCode + 0x100 // calls it at its byte 16
	fakeOuter = fakeCode + 0x200 // calls that one at its byte 16
	fakeStack = 0x7fff0000
)

const (
	fakeMaps = "00400000-00401000 r--p 00000000 08:01 7 /lib/libibverbs.so.1\n00401000-00401100 r-xp 00001000 08:01 7 /lib/libibverbs.so.1\n" +
		"00401100-00402000 r-xp 00001000 08:01 8 /bin/program\n"
	fakeStatic = "00400000-00401000 r--p 00000000 08:01 8 /bin/program\n00401000-00402000 r-xp 00001000 08:01 8 /bin/program\n"
)

// fakeProgram returns a program whose functions have frames of 24 bytes. They begin with these
// bytes, and the instructions of their frame descriptions are the given ones.
func fakeProgram(code string, instructions ...byte) fake {
	le := binary.LittleEndian
	file := make([]byte, 0x2000)
	copy(file, "\x7fELF\x02\x01\x01")
	le.PutUint64(file[32:], fileHeaderLen)
	le.PutUint16(file[54:], programHeaderLen)
	le.PutUint16(file[56:], 2)
	load, frames := file[fileHeaderLen:], file[fileHeaderLen+programHeaderLen:]
	le.PutUint32(load, 1)
	le.PutUint64(load[16:], fakeBase)
	le.PutUint32(frames, 0x6474e550)
	le.PutUint64(frames[16:], fakeTable)
	table := file[fakeTable-fakeBase:]
	copy(table, framesHeader)
	le.PutUint32(table[8:], 3)
	// A CIE, with the CFA 8 bytes above the stack pointer and the return address just below it.
	entries := table[0x100:]
	copy(entries, "\x14\x00\x00\x00\x00\x00\x00\x00\x01zR\x00\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\x00\x00")
	for i := range 3 {
		function, at := uint64(fakeCode+0x100*i), uint64(0x100+24+32*i)
		d := table[at:]
		le.PutUint32(d, 28)
		le.PutUint32(d[4:], uint32(at+4-0x100))
		le.PutUint32(d[8:], uint32(function-(fakeTable+at+8)))
		le.PutUint32(d[12:], 0x100)
		copy(d[17:], instructions)
		le.PutUint32(table[12+8*i:], uint32(function-fakeTable))
		le.PutUint32(table[16+8*i:], uint32(at))
		start := file[function-fakeBase:]
		copy(start, code)
		if i > 0 { // a call of the one before
			start[11] = 0xe8
			le.PutUint32(start[12:], uint32(0xffffffff-0x100-15))
		}
	}
	return fake{fakeBase: file}
}

// stack adds a stack to a program.
func (f fake) stack(words ...uint64) fake {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	f[fakeStack] = b
	return f
}

// Instructions of frame descriptions: a frame of 24 bytes; the frame pointer is saved and the CFA
// is 16 bytes above it.
var (
	bySP = []byte{0x0e, 24}
	byFP = []byte{0x0e, 16, 0x86, 2, 0x0d, framePointer}
)

// Prologues of functions with a frame pointer.
const (
	nops     = "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
	fixed    = "\x55\x48\x89\xe5\x48\x83\xec\x10\x90\x90\x90" // push %rbp; mov %rsp,%rbp; sub $16,%rsp
	variable = "\x55\x48\x89\xe5\x48\x29\xc4\x90\x90\x90\x90" // the same with sub %rax,%rsp
)

// TestWalk: a walk finds the frames of the program, and none that is not certain.
func TestWalk(t *testing.T) {
	const inner, own, outer = fakeInner + 16, fakeOwn + 16, fakeOuter + 16
	none := []uint64{}
	for _, tt := range []struct {
		desc string
		maps string
		m    fake
		pc   uint64
		want []uint64
	}{
		{"by the stack pointer", fakeStatic, fakeProgram(nops, bySP...).stack(1, 2, own, 3, 4, outer, 5, 6, 7), inner, []uint64{inner - 1, own - 1, outer - 1}},
		{"no call in front of a return address", fakeStatic, fakeProgram(nops, bySP...).stack(1, 2, own+1, 3, 4, outer), inner, []uint64{inner - 1}},
		{"a stack that ends", fakeStatic, fakeProgram(nops, bySP...).stack(1, 2, own), inner, []uint64{inner - 1, own - 1}},
		{"no stack", fakeStatic, fakeProgram(nops, bySP...), inner, []uint64{inner - 1}},
		{"code that is not mapped", fakeStatic, fakeProgram(nops, bySP...).stack(1, 2, own), 0x5000, none},
		{"code of no file", "00400000-00402000 r-xp 00000000 00:00 0 \n", fakeProgram(nops, bySP...).stack(1, 2, own), inner, none},
		{"no ELF file", fakeStatic, fake{fakeBase: make([]byte, 0x2000)}, inner, none},
		{"an unknown frame pointer, and code that tells", fakeStatic, fakeProgram(fixed, byFP...).stack(1, 2, fakeStack+56, own, 4, 5, 6, fakeStack+72, outer, 7, 8), inner, []uint64{inner - 1, own - 1, outer - 1}},
		{"and a call of another function there", fakeStatic, fakeProgram(fixed, byFP...).stack(1, 2, fakeStack+56, outer, 4, 5, 6, fakeStack+72, outer), inner, []uint64{inner - 1}},
		{"and code that does not tell", fakeStatic, fakeProgram(variable, byFP...).stack(1, 2, fakeStack+56, own, 4, 5, 6, fakeStack+72, outer), inner, []uint64{inner - 1}},
		{"a frame pointer below the stack", fakeStatic, fakeProgram(fixed, byFP...).stack(1, 2, fakeStack-4096, own, 4, 5), inner, []uint64{inner - 1, own - 1}},
		{"an expression for the CFA", fakeStatic, fakeProgram(nops, 0x0f, 2, 0x77, 8).stack(1, own), inner, []uint64{inner - 1}},
		{"instructions that the tables do not have", fakeStatic, fakeProgram(nops, 0x0b, 0x3d).stack(1, own), inner, []uint64{inner - 1}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			got := newSpace([]byte(tt.maps)).walk(tt.m, fakeStack, tt.pc, noFiles{})
			if len(got) != len(tt.want) {
				t.Fatalf("frames %v, want %#x", got, tt.want)
			}
			for i, p := range got {
				if p.addr != tt.want[i] || p.object.name != "program" {
					t.Errorf("frame %d is %s+%#x, want program+%#x", i, p.object.name, p.addr, tt.want[i])
				}
			}
		})
	}
}

// TestWalkThroughManager: a walk tells whether it goes through librdmacm.
func TestWalkThroughManager(t *testing.T) {
	m := fakeProgram(nops, bySP...).stack(1, 2, fakeOwn+16, 3, 4, fakeOuter+16, 5, 6, 7)
	s := newSpace([]byte(strings.ReplaceAll(fakeMaps, "libibverbs", "librdmacm")))
	for _, tt := range []struct {
		pc   uint64
		want bool
	}{{fakeInner + 16, true}, {fakeOwn + 16, false}} {
		if s.walk(m, fakeStack, tt.pc, noFiles{}); s.byManager != tt.want {
			t.Errorf("from %#x: through librdmacm: %t, want %t", tt.pc, s.byManager, tt.want)
		}
	}
	for _, x := range []Site{{byManager: true}, {static: true}} {
		if x.IsOwn() {
			t.Errorf("%+v is the program's own", x)
		}
	}
}

// endless is a stack on which each function has been called by itself.
type endless struct{ fake }

func (e endless) Read(b []byte, addr uint64) error {
	if addr < fakeStack {
		return e.fake.Read(b, addr)
	}
	if len(b) == wordLen {
		binary.LittleEndian.PutUint64(b, fakeOwn+16)
	}
	return nil
}

// TestWalkEnds: a walk along an endless stack ends.
func TestWalkEnds(t *testing.T) {
	got := newSpace([]byte(fakeStatic)).walk(endless{fakeProgram(nops, bySP...)}, fakeStack, fakeInner+16, noFiles{})
	if len(got) != maxInside {
		t.Errorf("%d frames, want %d", len(got), maxInside)
	}
	s := newSpace([]byte(fakeStatic))
	s.walk(endless{fakeProgram(nops, bySP...)}, 0, fakeInner+16, noFiles{})
	s.walk(endless{fakeProgram(nops, bySP...)}, ^uint64(0)-7, fakeInner+16, noFiles{})
}

// FuzzWalk: whatever is in the memory of a program, a walk ends without a panic.
func FuzzWalk(f *testing.F) {
	for _, p := range []fake{fakeProgram(nops, bySP...), fakeProgram(fixed, byFP...), fakeProgram(variable, byFP...)} {
		f.Add(p[fakeBase], []byte(fakeStatic), uint64(fakeInner+16), uint64(fakeBase+0x800))
	}
	f.Fuzz(func(t *testing.T, file, maps []byte, pc, sp uint64) {
		s := newSpace(maps)
		m := fake{fakeBase: file}
		if got := s.walk(look(m, sp), sp, pc, noFiles{}); len(got) > maxInside {
			t.Errorf("%d frames", len(got))
		}
		readTable(m, fakeBase, 0x40, uint64(len(file))-0x40)
	})
}
