package filecopy

import (
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"
	"unicode"
)

// targets checks the names at the destination of all jobs of a Copy.
type targets struct {
	absent   map[string]bool // directories that could not be made
	caseful  map[string]bool // directories in which names can differ only in case
	seed     maphash.Seed
	foldings map[uint64]*job // by the hash of the folded name: the first job with such a name
}

// check returns ErrNames if two jobs have the same target, unless both are directories, whose
// contents are merged. It records which targets differ only in case.
func (t *targets) check(plans []*plan) error {
	*t = targets{
		absent: make(map[string]bool), caseful: make(map[string]bool), seed: maphash.MakeSeed(), foldings: make(map[uint64]*job),
	}
	exact := make(map[string]*job)
	for _, p := range plans {
		for i := range p.jobs {
			j := &p.jobs[i]
			if other := exact[j.to]; other != nil && !(other.isDir() && j.isDir()) {
				return fmt.Errorf("%w: %s and %s would both become %s", ErrNames, printable(other.shown), printable(j.shown), printable(j.target))
			}
			exact[j.to] = j
			t.noteTwin(j)
		}
	}
	t.foldings = nil
	return nil
}

// noteTwin looks for an earlier job whose target differs from j's only in case. It stores only
// hashes of folded names, because the names of a million files can be long.
func (t *targets) noteTwin(j *job) {
	folded := fold(j.to)
	for n := uint64(0); ; n++ {
		key := maphash.Comparable(t.seed, hashed{n, folded})
		other := t.foldings[key]
		switch {
		case other == nil:
			t.foldings[key] = j
			return
		case fold(other.to) != folded:
			continue // another name with the same hash
		case other.to != j.to:
			other.twin, j.twin = j.to, other.to
		}
		return
	}
}

type hashed struct {
	n    uint64
	name string
}

// fold replaces each letter in s by a representative of all its case variants.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// checkTwin returns ErrNames if the destination's file system does not distinguish the target of j
// from another job's target, because it ignores case. It can detect that once one of the two
// exists.
func (t *targets) checkTwin(j job, s steps) error {
	dir, base := path.Split(j.to)
	dir = path.Clean(dir)
	if j.twin == "" || t.caseful[dir] || s.stat(j.to) != nil {
		return nil
	}
	names, err := s.list(dir)
	if err != nil {
		return err
	}
	if slices.Contains(names, base) {
		t.caseful[dir] = slices.ContainsFunc(names, func(other string) bool { return other != base && fold(other) == fold(base) })
		return nil
	}
	return fmt.Errorf("%w: the file system at the destination does not distinguish %s and %s", ErrNames, printable(j.to), printable(j.twin))
}
