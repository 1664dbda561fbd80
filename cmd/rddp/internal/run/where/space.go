package where

import "github.com/go-delve/delve/pkg/dwarf/frame"

// A space is what is known of the address space of a process: its memory map, and how to go from
// one frame to the next. It is a value without lock; the Finder has one for each process.
type space struct {
	maps    []mapping
	objects map[int]*object  // by the index of the mapping with the header; nil if it is not an ELF file
	steps   map[uint64]*step // by the address in the code
	hasLibs bool             // libibverbs is a file of its own, and not a part of the program
	missed  bool             // code was met that is not in the map: it may have changed
	// the last walk went through librdmacm
	byManager bool
}

// An object is a file with code that a process has mapped.
type object struct {
	name string // the last part of its path
	segments
	inner bool // of rdma-core or the C library
	file  *file
	// the frame descriptions by the address in the file, if frames is 0
	table frame.FrameDescriptionEntries
}

// A step says how a frame is found from the one that it has called.
type step struct {
	rule
	object *object // nil if the code belongs to no file
	hasRule,
	isReturn bool // there is a call in front of the address
	target      uint64 // of that call
	knowsTarget bool
	// the distance from the stack pointer to the CFA, if the rule needs the frame pointer and the
	// code tells it
	size    int64
	hasSize bool
}

// Bounds for what is kept of a process.
const (
	maxObjects = 1 << 10
	maxSteps   = 1 << 14
)

func newSpace(text []byte) *space {
	s := &space{maps: parseMaps(text), objects: make(map[int]*object), steps: make(map[uint64]*step)}
	for i := range s.maps {
		s.hasLibs = s.hasLibs || isVerbs(base(s.maps[i].path))
	}
	return s
}

// forgets reports whether memory that the process gives up has code that s knows.
func (s *space) forgets(addr, n uint64) bool {
	for i := range s.maps {
		if m := &s.maps[i]; m.executable && addr < m.end && m.start < addr+n {
			return true
		}
	}
	return false
}

// find returns the step at an address, which is one behind the address of the code if it is that of
// a caller. fresh is called for a file that has no object yet, and returns nil if it may not have
// one.
func (s *space) find(m Memory, pc uint64, caller bool, f files) *step {
	if x, ok := s.steps[pc]; ok {
		return x
	}
	x := new(step)
	code := pc
	if caller {
		x.target, x.knowsTarget, x.isReturn = isCall(m, pc)
		code--
	}
	if x.object = s.object(m, code, f); x.object != nil {
		x.rule, x.hasRule = x.object.rule(m, code)
	}
	if x.hasRule && x.base == framePointer {
		x.size, x.hasSize = frameSize(m, x.begin, pc)
	}
	if len(s.steps) < maxSteps {
		s.steps[pc] = x
	}
	return x
}

// rule returns the rule for the frame of a function of o.
func (o *object) rule(m Memory, pc uint64) (rule, bool) {
	if o.frames == 0 {
		r, ok := tableRule(o.table, pc-o.bias)
		r.begin += o.bias
		return r, ok
	}
	at, ok := searchFrame(m, o.frames, pc)
	if !ok {
		return rule{}, false
	}
	return readRule(m, at, pc)
}

// object returns the file that has the code at an address, or nil.
func (s *space) object(m Memory, pc uint64, f files) *object {
	i := at(s.maps, pc)
	s.missed = s.missed || i < 0
	if i < 0 || !s.maps[i].executable || s.maps[i].path == "" {
		return nil
	}
	k := header(s.maps, i)
	if k < 0 {
		return nil
	}
	if o, ok := s.objects[k]; ok {
		return o
	}
	if len(s.objects) == maxObjects {
		return nil
	}
	o := (*object)(nil)
	if x, ok := readSegments(m, s.maps[k].start); ok {
		name := base(s.maps[k].path)
		o = &object{name: name, segments: x, inner: isInner(name)}
		if !o.inner || o.frames == 0 {
			o.file = f.file(&s.maps[k])
		}
		if o.frames == 0 {
			o.table = f.table(o.file, o.bias)
		}
	}
	s.objects[k] = o
	return o
}

// knows reports whether the memory map has code at an address. If it has not, the map may be an old
// one.
func (s *space) knows(pc uint64) bool { i := at(s.maps, pc); return i >= 0 && s.maps[i].executable }
