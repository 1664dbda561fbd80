package where

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
)

// A mapping is a line of /proc/PID/maps.
type mapping struct {
	start, end uint64
	executable bool
	offset     uint64 // in the file
	device     string
	inode      uint64
	path       string
}

// maxMappings bounds the mappings of a process that are looked at.
const maxMappings = 1 << 16

// parseMaps parses /proc/PID/maps. It leaves out lines that it does not understand.
func parseMaps(text []byte) (all []mapping) {
	for len(text) > 0 && len(all) < maxMappings {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		if m, ok := parseMapping(string(line)); ok && (len(all) == 0 || m.start >= all[len(all)-1].end) {
			all = append(all, m)
		}
	}
	return all
}

func parseMapping(line string) (m mapping, ok bool) {
	var f [5]string // range, protection, offset, device, inode
	for i := range f {
		f[i], line, _ = strings.Cut(line, " ")
	}
	from, to, _ := strings.Cut(f[0], "-")
	var errs [4]error
	m.start, errs[0] = strconv.ParseUint(from, 16, 64)
	m.end, errs[1] = strconv.ParseUint(to, 16, 64)
	m.offset, errs[2] = strconv.ParseUint(f[2], 16, 64)
	m.inode, errs[3] = strconv.ParseUint(f[4], 10, 64)
	m.executable = len(f[1]) == 4 && f[1][2] == 'x'
	m.device, m.path = f[3], strings.ReplaceAll(strings.TrimLeft(line, " "), `\012`, "\n")
	return m, errs == [4]error{} && m.start < m.end
}

// at returns the index of the mapping that has an address, or -1.
func at(maps []mapping, addr uint64) int {
	i := sort.Search(len(maps), func(i int) bool { return addr < maps[i].end })
	if i < len(maps) && maps[i].start <= addr {
		return i
	}
	return -1
}

// header returns the mapping of the same file that has the file's beginning, for the mapping i, or
// -1. A file may be mapped more than once.
func header(maps []mapping, i int) int {
	for k := i; k >= 0; k-- {
		if a, b := &maps[k], &maps[i]; a.offset == 0 && a.path == b.path && a.inode == b.inode && a.device == b.device {
			return k
		}
	}
	return -1
}
