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
	// librdmacm has made the call
	byManager bool
}

// IsOwn reports whether the program has made the call through libibverbs alone, and not librdmacm
// for it.
func (s *Site) IsOwn() bool { return !s.static && !s.byManager }

// A line is a place in the source of a program.
type line struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// String returns the function and the line of the first frame that is not one of rdma-core, and
// behind it those of its caller. Without them it returns what is known: the function, or the file
// and the address in it. If nothing is certain, it returns the empty string. It may take some
// milliseconds the first time, and a second for a file that is too large.
func (s *Site) String() string {
	var own []string // the first frames behind those of rdma-core
	before, isMain := "", false
	for _, f := range s.frames {
		all := s.lookup(f)
		if len(all) == 0 {
			all = []line{{}}
		}
		for _, l := range all {
			switch {
			case l.isInner():
				own, isMain = nil, false
			case isMain:
			case len(own) > 0 || !s.static || isEntrance(before):
				own = append(own, l.in(f))
				isMain = l.Function == "main"
			}
			before = l.Function
		}
	}
	// In a static program, functions of rdma-core call others whose names say nothing, so only what
	// calls an entrance counts. Without symbols nobody knows which frames are the program's.
	return strings.Join(own[:min(len(own), shownFrames)], ", called by ")
}

// shownFrames is how many frames String returns: many programs have a function of their own around
// each one of verbs.
const shownFrames = 2

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
