package where

import (
	"fmt"
	"strings"
)

// A Site is a place in a program: where a thread has made a system call.
type Site struct {
	lookup func(point) []line
	frames []point // the first ones that are in a file of the program
	static bool    // rdma-core is a part of that file
}

// A line is a place in the source of a program.
type line struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// String returns the function and the line of the first frame that is not one of rdma-core. Without
// them it returns what is known: the function, or the file and the address in it. If nothing is
// certain, it returns the empty string. It may take some milliseconds the first time, and a second
// for a file that is too large.
func (s *Site) String() string {
	own, before := "", ""
	for _, f := range s.frames {
		all := s.lookup(f)
		if len(all) == 0 {
			all = []line{{}}
		}
		for _, l := range all {
			switch {
			case l.isInner():
				own = ""
			case !s.static:
				return l.in(f)
			case own == "" && isEntrance(before):
				own = l.in(f)
			}
			before = l.Function
		}
	}
	// In a static program, functions of rdma-core call others whose names say nothing, so only what
	// calls an entrance counts. Without symbols nobody knows which frames are the program's.
	return own
}

// isInner reports whether l is in a function of rdma-core: one of a static program, or one that its
// headers have, and the program's file therefore too.
func (l line) isInner() bool {
	return isInnerFunction(l.Function) || strings.Contains(l.File, "/infiniband/") && strings.HasSuffix(l.File, ".h") || strings.Contains(l.File, "/rdma/rdma_")
}

// in returns l as text, for a frame.
func (l line) in(f point) string {
	at := fmt.Sprintf("%s+%#x", f.object.name, f.addr)
	if l.Line > 0 {
		at = fmt.Sprintf("%s:%d", l.File, l.Line)
	}
	if l.Function == "" {
		return at
	}
	return l.Function + " at " + at
}
