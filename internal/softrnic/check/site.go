package check

// A Site is a place in the program, such as a function and a line. String may take a while, because
// it looks for them in files. It returns the empty string if the place is not known.
type Site interface{ String() string }

// sites are the places that made the objects of a program.
type sites struct {
	all map[string]place // by the name of the object
	// the objects that are gone, the last of which may still have a finding
	gone []string
}

// A place is a Site, and what happens there.
type place struct {
	what string // such as "created"
	site Site
}

// Bounds of sites.
const (
	maxSites = 1 << 20
	maxGone  = 1 << 10
)

func (s *sites) add(object string, p place) {
	if s.all == nil {
		s.all = make(map[string]place)
	}
	if len(s.all) < maxSites {
		s.all[object] = p
	}
}

func (s *sites) remove(object string) {
	if _, ok := s.all[object]; !ok {
		return
	}
	if s.gone = append(s.gone, object); len(s.gone) > maxGone {
		delete(s.all, s.gone[0])
		s.gone = s.gone[1:]
	}
}
