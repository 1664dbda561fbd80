package check

// A Site is a place in the program, such as a function and a line. String may take a while, because
// it looks for them in files. It returns the empty string if the place is not known.
type Site interface{ String() string }

// sites are the places that made the objects of a program.
type sites struct {
	all map[string]made // by the name of the object
	// the objects that are gone, the last of which may still have a finding
	gone []gone
	// makes is how many objects there have been
	makes uint64
}

// A made is the place that made an object, and the number of the object: a later one may have the
// same name.
type made struct {
	place
	number uint64
}

// A gone is an object that is gone.
type gone struct {
	object string
	number uint64
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
		s.all = make(map[string]made)
	}
	if len(s.all) < maxSites {
		s.makes++
		s.all[object] = made{p, s.makes}
	}
}

func (s *sites) remove(object string) {
	x, ok := s.all[object]
	if !ok {
		return
	}
	if s.gone = append(s.gone, gone{object, x.number}); len(s.gone) > maxGone {
		if first := s.gone[0]; s.all[first.object].number == first.number {
			delete(s.all, first.object)
		}
		s.gone = s.gone[1:]
	}
}
