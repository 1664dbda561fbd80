package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// reserve makes the kernel choose a port of 127.0.0.1, and keeps others from getting the same one
// until release is called. A process that sets SO_REUSEADDR can still listen at the port, because
// the socket of reserve never does.
func reserve() (port int, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	release = func() { syscall.Close(fd) }
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var address syscall.Sockaddr
	if err == nil {
		address, err = syscall.Getsockname(fd)
	}
	if err != nil {
		release()
		return 0, nil, fmt.Errorf("reserving a port: %w", err)
	}
	return address.(*syscall.SockaddrInet4).Port, release, nil
}

// listening returns the TCP port at which a process listens, or 0 if there is none yet.
func listening(pid int) (port int, err error) {
	folder := fmt.Sprintf("/proc/%d", pid)
	entries, err := os.ReadDir(filepath.Join(folder, "fd"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // the process has ended
		return 0, nil
	} else if errors.Is(err, fs.ErrPermission) && ends(folder) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	own := make(map[string]bool)
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(folder, "fd", e.Name())); err == nil { // otherwise it was closed meanwhile
			own[to] = true
		}
	}
	for _, name := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(filepath.Join(folder, "net", name))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EINVAL) {
			continue // the process has ended, or the kernel has no IPv6
		} else if err != nil {
			return 0, err
		}
		for _, l := range parseListeners(string(table)) {
			if own["socket:["+l.inode+"]"] {
				return l.port, nil
			}
		}
	}
	return 0, nil
}

// ends reports whether the process of a folder of /proc is ending or has ended. From the moment
// that it has released its memory until its parent has waited for it, its folder belongs to root.
func ends(folder string) bool {
	memory, err := os.ReadFile(filepath.Join(folder, "statm"))
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.HasPrefix(string(memory), "0 ")
}

// A listener is a socket in the state LISTEN.
type listener struct {
	port  int
	inode string
}

// parseListeners returns the listening sockets of a table like /proc/net/tcp. It leaves out lines
// that it does not understand.
func parseListeners(table string) (all []listener) {
	const local, state, inode, listen = 1, 3, 9, "0A"
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) <= inode || f[state] != listen {
			continue
		}
		_, text, _ := strings.Cut(f[local], ":")
		if port, err := strconv.ParseUint(text, 16, 16); err == nil && port > 0 {
			all = append(all, listener{int(port), f[inode]})
		}
	}
	return all
}
