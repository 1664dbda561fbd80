package process

import (
	"bytes"
	"errors"
	"strconv"
)

// A Shared is a part of a process's memory that other processes may share (MAP_SHARED).
type Shared struct {
	From, To uint64
	object   object
}

// An object is the object behind a mapping: a file, or memory that only a process and its children
// share.
type object struct {
	device string
	inode  uint64
	base   uint64 // the offset in the object that corresponds to address 0
}

// Shared is Check, and also returns the parts of the n bytes at addr that other processes may
// share.
func (p *Process) Shared(addr, n uint64, write bool) (all []Shared, err error) {
	err = p.walk(addr, n, func(m mapping) error {
		if !m.allows(write) {
			return errFault
		}
		o, ok := m.object()
		if !ok {
			return nil
		}
		if l := len(all); l > 0 && all[l-1].To == m.from && all[l-1].object == o {
			all[l-1].To = m.to
		} else {
			all = append(all, Shared{m.from, m.to, o})
		}
		return nil
	})
	return all, err
}

// Has returns an error unless the n bytes at addr are within parts, which come from another
// process, and p has the same objects mapped there, readable, and writable if write is true.
func (p *Process) Has(parts []Shared, addr, n uint64, write bool) error {
	return p.walk(addr, n, func(m mapping) error {
		o, ok := m.object()
		from, to := max(m.from, addr), min(m.to, addr+n)
		for _, s := range parts {
			if ok && m.allows(write) && s.object == o && s.From <= from && to <= s.To {
				return nil
			}
		}
		return errFault
	})
}

// Private calls do for the parts of the n bytes at addr that are mapped privately. It returns an
// error if some of the bytes are not mapped: do gets only parts in front of these then.
func (p *Process) Private(addr, n uint64, do func(addr, n uint64)) error {
	return p.walk(addr, n, func(m mapping) error {
		if from, to := max(m.from, addr), min(m.to, addr+n); m.rest[3] != 's' {
			do(from, to-from)
		}
		return nil
	})
}

// HasRoom reports whether some memory of the process ends at addr, and nothing is mapped in the n
// bytes behind it.
func (p *Process) HasRoom(addr, n uint64) (bool, error) {
	table, err := p.readMaps()
	if err != nil {
		return false, err
	}
	ends := false
	for line := range bytes.Lines(table) {
		from, to, _, ok := parseMap(line)
		switch {
		case !ok || to < addr:
		case to == addr:
			ends = true
		case from < addr+n:
			return false, nil
		}
	}
	return ends, nil
}

// A mapping is a line of /proc/PID/maps: "from-to rights offset device inode path".
type mapping struct {
	from, to uint64
	rest     []byte // from the rights to the end of the line
}

func (m mapping) allows(write bool) bool { return m.rest[0] == 'r' && (!write || m.rest[1] == 'w') }

// object returns the object behind m. ok is false if m is private.
func (m mapping) object() (o object, ok bool) {
	fields := bytes.Fields(m.rest)
	if m.rest[3] != 's' || len(fields) < 4 {
		return object{}, false
	}
	offset, err1 := strconv.ParseUint(string(fields[1]), 16, 64)
	inode, err2 := strconv.ParseUint(string(fields[3]), 10, 64)
	return object{string(fields[2]), inode, offset - m.from}, errors.Join(err1, err2) == nil
}

// walk calls do for each mapping of the n bytes at addr, until do returns an error. It returns an
// error if some of the bytes are not mapped.
func (p *Process) walk(addr, n uint64, do func(m mapping) error) error {
	if n == 0 {
		return nil
	}
	end := addr + n
	if end < addr {
		return errFault
	}
	table, err := p.readMaps()
	if err != nil {
		return err
	}
	for len(table) > 0 && addr < end {
		var line []byte
		line, table, _ = bytes.Cut(table, []byte("\n"))
		from, to, rest, ok := parseMap(line)
		switch {
		case !ok || to <= addr:
			continue
		case from > addr:
			return errFault
		}
		if err := do(mapping{from, to, rest}); err != nil {
			return err
		}
		addr = to
	}
	if addr < end {
		return errFault
	}
	return nil
}
