package user

import (
	"os"
	"strconv"
	"strings"
)

// Of returns the relation of a user number, as the kernel shows it to this process.
func Of(uid uint32) Relation { return relation(uid, uint32(os.Geteuid()), overflowUID, areAllMapped) }

// relation returns the relation of two user numbers. The number that overflow returns stands for
// each user without one in this user namespace, unless all have one.
func relation(uid, own uint32, overflow func() uint32, allMapped func() bool) Relation {
	switch {
	case uid != own:
		return Another
	case uid == overflow() && !allMapped():
		return Unknown
	}
	return Same
}

// overflowUID returns the number that stands for all users without one in this user namespace.
func overflowUID() uint32 {
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, e := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32); err == nil && e == nil {
		return uint32(n)
	}
	return 65534
}

// areAllMapped reports whether each user has a number in this user namespace.
func areAllMapped() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && mapsAll(string(b))
}

// mapsAll reports whether a map of a user namespace is for each user. Its lines are disjoint, and
// their last field is a number of users.
func mapsAll(text string) bool {
	const all = 1<<32 - 1 // the last number is that of no user
	var n uint64
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return false
		}
		count, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil {
			return false
		}
		n += count
	}
	return n >= all
}
