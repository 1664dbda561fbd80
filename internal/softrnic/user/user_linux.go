package user

import (
	"os"
	"strconv"
	"strings"
)

// Of returns the relation of a UID, as the kernel shows it to this process.
func Of(uid uint32) Relation { return relation(uid, uint32(os.Geteuid()), overflowUID, areAllMapped) }

// relation returns the relation of two UIDs. overflow returns the UID that represents all users
// without a UID in this user namespace, unless all users are mapped.
func relation(uid, own uint32, overflow func() uint32, allMapped func() bool) Relation {
	switch {
	case uid != own:
		return Another
	case uid == overflow() && !allMapped():
		return Unknown
	}
	return Same
}

// overflowUID returns the UID that represents all users without a UID in this user namespace.
func overflowUID() uint32 {
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, e := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32); err == nil && e == nil {
		return uint32(n)
	}
	return 65534
}

// areAllMapped reports whether every user has a UID in this user namespace.
func areAllMapped() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && mapsAll(string(b))
}

// mapsAll reports whether a uid_map maps every user. Its lines are disjoint, and their last field
// is a number of users.
func mapsAll(text string) bool {
	const all = 1<<32 - 1 // the last UID belongs to no user
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
