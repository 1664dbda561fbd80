package where

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
)

// lines finds functions and lines in an ELF file. Its contents may be anything, and the packages
// that read them need more memory or time for some than there is: see Stage.
type lines struct {
	functions []elf.Symbol // by address
	data      *dwarf.Data  // nil if the file has none
}

// Bounds for what is read of a file.
const (
	maxSymbols = 64 << 20  // bytes
	maxDebug   = 512 << 20 // bytes
	maxInlined = 64        // functions inside one another
	maxOrigins = 8         // entries that refer to one another
	maxText    = 4096      // bytes of a name
)

// readLines reads a file. debug returns the file with the debug information for a build ID, or nil.
func readLines(r io.ReaderAt, debug func(id string) io.ReaderAt) *lines {
	l := new(lines)
	f, err := elf.NewFile(r)
	if err != nil {
		return l
	}
	l.add(f)
	if id := buildID(f); l.data == nil && len(id) > 2 {
		if r := debug(id); r != nil {
			if f, err := elf.NewFile(r); err == nil && buildID(f) == id {
				l.add(f)
			}
		}
	}
	return l
}

// readFrames returns the address and the length of the frame descriptions of a file.
func readFrames(r io.ReaderAt) (at, n uint64) {
	f, err := elf.NewFile(r)
	if err != nil {
		return 0, 0
	}
	if s := f.Section(".eh_frame"); s != nil {
		return s.Addr, s.Size
	}
	return 0, 0
}

// add adds what a file has.
func (l *lines) add(f *elf.File) {
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return
	}
	size := uint64(0)
	for _, s := range f.Sections {
		switch {
		case s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_STRTAB:
			if s.Size > maxSymbols {
				return
			}
		case strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_"):
			size += s.Size
		}
	}
	static, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range slices.Concat(static, dynamic) {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && s.Value != 0 {
			l.functions = append(l.functions, s)
		}
	}
	slices.SortStableFunc(l.functions, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	if size <= maxDebug && f.Section(".debug_line") != nil {
		l.data, _ = f.DWARF()
	}
}

// buildID returns the build ID of a file in hexadecimal, or the empty string.
func buildID(f *elf.File) string {
	s := f.Section(".note.gnu.build-id")
	if s == nil || s.Type != elf.SHT_NOTE || s.Size < 16 || s.Size > 256 {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) < 16 || string(b[12:16]) != "GNU\x00" {
		return ""
	}
	n := binary.LittleEndian.Uint32(b[4:])
	return hex.EncodeToString(b[16:min(16+uint64(n), uint64(len(b)))])
}

// find returns the function and the line of an address in the file, and behind them those into
// which the function was inlined. It returns nothing if the file does not say it.
func (l *lines) find(addr uint64) (all []line) {
	if l.data != nil {
		all = l.inlined(addr)
	}
	switch name := l.function(addr); {
	case name == "":
	case len(all) == 0:
		all = []line{{Function: name}}
	case all[len(all)-1].Function == "":
		all[len(all)-1].Function = name
	}
	for i := range all {
		all[i].Function, all[i].File = short(all[i].Function), short(all[i].File)
	}
	return all
}

func short(s string) string { return s[:min(len(s), maxText)] }

// function returns the name of the function that has an address.
func (l *lines) function(addr uint64) string {
	i := sort.Search(len(l.functions), func(i int) bool { return l.functions[i].Value > addr })
	for i--; i >= 0 && l.functions[i].Value <= addr; i-- {
		s := &l.functions[i]
		if addr-s.Value < s.Size {
			return s.Name
		}
		if i > 0 && l.functions[i-1].Value != s.Value {
			break
		}
	}
	return ""
}

// inlined returns what the debug information says of an address.
func (l *lines) inlined(addr uint64) (all []line) {
	r := l.data.Reader()
	unit, err := r.SeekPC(addr)
	if err != nil {
		return nil
	}
	table, err := l.data.LineReader(unit)
	if err != nil || table == nil {
		return nil
	}
	e, ok := seek(table, addr)
	if !ok || e.File == nil {
		return nil
	}
	folder, _ := unit.Val(dwarf.AttrCompDir).(string)
	all = []line{{File: absolute(folder, e.File.Name), Line: e.Line}}
	files := table.Files()
	for _, f := range l.around(r, unit, addr) {
		all[0].Function = l.name(f)
		if f.Tag == dwarf.TagSubprogram {
			break
		}
		n, _ := f.Val(dwarf.AttrCallLine).(int64)
		k, _ := f.Val(dwarf.AttrCallFile).(int64)
		if k < 0 || k >= int64(len(files)) || files[k] == nil {
			break
		}
		all = append([]line{{File: absolute(folder, files[k].Name), Line: int(n)}}, all...)
	}
	slices.Reverse(all)
	return all
}

// seek returns the entry for an address. The parts of a table are in any order, for which the
// method SeekPC is not made.
func seek(table *dwarf.LineReader, addr uint64) (dwarf.LineEntry, bool) {
	var last, e dwarf.LineEntry
	for last.EndSequence = true; ; last = e {
		if table.Next(&e) != nil {
			return e, false
		}
		if !last.EndSequence && last.Address <= addr && addr < e.Address {
			return last, true
		}
	}
}

func absolute(folder, name string) string {
	if path.IsAbs(name) || folder == "" {
		return name
	}
	return path.Join(folder, name)
}

// around returns the functions that have an address, the innermost one first.
func (l *lines) around(r *dwarf.Reader, unit *dwarf.Entry, addr uint64) (all []*dwarf.Entry) {
	r.Seek(unit.Offset)
	if _, err := r.Next(); err != nil {
		return nil
	}
	for len(all) < maxInlined {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == dwarf.TagCompileUnit {
			break
		}
		if e.Tag != dwarf.TagSubprogram && e.Tag != dwarf.TagInlinedSubroutine {
			continue
		}
		switch ok, err := l.has(e, addr); {
		case err != nil:
			return nil
		case ok:
			all = append(all, e)
		case e.Children:
			r.SkipChildren()
		}
	}
	slices.Reverse(all)
	return all
}

func (l *lines) has(e *dwarf.Entry, addr uint64) (bool, error) {
	ranges, err := l.data.Ranges(e)
	return slices.ContainsFunc(ranges, func(x [2]uint64) bool { return x[0] <= addr && addr < x[1] }), err
}

// name returns the name of a function, which may be that of another entry.
func (l *lines) name(e *dwarf.Entry) string {
	for range maxOrigins {
		if name, ok := e.Val(dwarf.AttrName).(string); ok {
			return name
		}
		at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if at, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return ""
			}
		}
		r := l.data.Reader()
		r.Seek(at)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			return ""
		}
	}
	return ""
}
