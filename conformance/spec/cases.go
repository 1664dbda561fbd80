package spec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Cases returns all cases, in the order in which Run asks them.
func Cases() []Case {
	var list []Case
	for _, group := range [][]Case{
		responderStartup(), initiatorStartup(), framing(), markers(), enhancedResponder(), enhancedInitiator(),
		segments(), placement(), operations(), reads(), invalidation(), terminates(), atomics(), immediate(), closing(), limits(),
	} {
		list = append(list, group...)
	}
	slices.SortStableFunc(list, func(a, b Case) int {
		return cmp.Or(cmp.Compare(rank(a.RFC()), rank(b.RFC())), compareSections(a.Section(), b.Section()))
	})
	return list
}

// rank orders the RFCs, from the wire up.
func rank(rfc string) int { return slices.Index([]string{"5044", "6581", "5041", "5040", "7306"}, rfc) }

func compareSections(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		m, _ := strconv.Atoi(a)
		n, _ := strconv.Atoi(b)
		return cmp.Compare(m, n)
	})
}

// question makes a case. id contains the RFC, the section and the name. ids are the ids of the
// requirements, separated by blanks.
func question(id string, part Part, needs Flags, ids, requirement string, run func(*session)) Case {
	return Case{ID: id, Part: part, Requirement: requirement, IDs: strings.Fields(ids), needs: needs, run: run}
}
