package mutations

import (
	"path"
	"slices"
	"strings"

	"github.com/rddp/rddp/conformance/requirements"
)

// A run is the tests of one package that have to find a fault.
type run struct{ folder, pattern, tags string }

// runs returns where the fault has to be found: in any of these.
func (f *Fault) runs(tests []requirements.Test) []run {
	if f.Tests != "" {
		return []run{{"./" + f.Package, f.Tests, f.Tags}}
	}
	var all []run
	names := map[string][]string{}
	for _, t := range tests {
		if !slices.ContainsFunc(t.IDs, func(id string) bool { return slices.Contains(f.IDs, id) }) {
			continue
		}
		folder := "./" + path.Dir(t.File)
		if names[folder] = append(names[folder], t.Name); len(names[folder]) == 1 {
			all = append(all, run{folder: folder})
		}
	}
	for i := range all {
		all[i].pattern = "^(" + strings.Join(names[all[i].folder], "|") + ")$"
	}
	// The fault's own package first: it is found there soonest.
	slices.SortStableFunc(all, func(a, b run) int {
		own := "./" + path.Dir(f.File)
		return boolOf(b.folder == own) - boolOf(a.folder == own)
	})
	return all
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}
