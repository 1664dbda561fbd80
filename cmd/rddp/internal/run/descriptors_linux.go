//go:build amd64 || arm64

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// descriptors returns the folder in /proc with the descriptors of a process, and their names there.
// The main thread may have ended while others go on; then the folder of the process itself is
// empty, and descriptors returns that of another thread.
func descriptors(pid int) (folder string, names []os.DirEntry, err error) {
	folder = fmt.Sprintf("/proc/%d/fd/", pid)
	if names, err = os.ReadDir(folder); err != nil || len(names) > 0 {
		return folder, names, err
	}
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/fd", pid))
	for _, other := range all {
		if names, err := os.ReadDir(other); err == nil && len(names) > 0 {
			return other + "/", names, nil
		}
	}
	return folder, nil, nil
}

// socketLink is how /proc/PID/fd shows a socket.
const socketLink = "socket:[%d]"

// openSockets returns those of the inodes whose sockets a process other than this one has. If a
// process cannot be looked at, it is none that this process supervises.
func openSockets(inodes []uint64) map[uint64]bool {
	open := make(map[uint64]bool)
	if len(inodes) == 0 {
		return open
	}
	links := make(map[string]uint64)
	for _, inode := range inodes {
		links[fmt.Sprintf(socketLink, inode)] = inode
	}
	all, _ := os.ReadDir("/proc")
	for _, x := range all {
		pid, err := strconv.Atoi(x.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		folder, names, _ := descriptors(pid)
		for _, n := range names {
			link, err := os.Readlink(folder + n.Name())
			if inode, ok := links[link]; ok && err == nil {
				open[inode] = true
			}
		}
		if len(open) == len(links) {
			break
		}
	}
	return open
}
